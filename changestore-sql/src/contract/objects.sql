-- One row: which contract this is. A reader's cursor holds epoch and generation.
CREATE TABLE change_contract_state (
    contract_version INTEGER,
    epoch TEXT,
    generation INTEGER,
    retention INTEGER,
    next_table_id INTEGER,
    generation_reason TEXT
);

-- The numbers that journaling reads and changes, on one page of their own: they are all that a write
-- pays for beside the log. id 0 is the sequence, -1 what was pruned under another retention, -2 the
-- retention, any other a table's last_seq.
CREATE TABLE change_contract_positions (
    id INTEGER PRIMARY KEY,
    value INTEGER
);

-- One row, read through the name that readers know. Whatever is at a multiple of 64 prunes to the
-- retention, so how far follows from the sequence and need not be written.
CREATE VIEW change_contract_sequence (value, pruned_through, next_prune) AS
    SELECT s.value, max(p.value, (s.value & ~63) - r.value), (s.value | 63) + 1
    FROM change_contract_positions s, change_contract_positions p, change_contract_positions r
    WHERE s.id = 0 AND p.id = -1 AND r.id = -2;

-- What is tracked. A table_id is never given to another table.
CREATE TABLE change_contract_definitions (
    table_id INTEGER PRIMARY KEY,
    table_name TEXT COLLATE NOCASE UNIQUE,
    mode TEXT,
    key_columns TEXT,
    insert_trigger TEXT,
    update_trigger TEXT,
    delete_trigger TEXT
);

CREATE VIEW change_contract_tables (
    table_id, table_name, mode, key_columns, last_seq, insert_trigger, update_trigger, delete_trigger
) AS
    SELECT d.table_id, d.table_name, d.mode, d.key_columns,
        (SELECT p.value FROM change_contract_positions p WHERE p.id = d.table_id),
        d.insert_trigger, d.update_trigger, d.delete_trigger
    FROM change_contract_definitions d;

-- Every trigger of a tracked table, as sqlite_schema has it: the three that readers look for and those
-- that journal a changed key and what REPLACE deletes.
CREATE TABLE change_contract_triggers (
    trigger_name TEXT COLLATE NOCASE PRIMARY KEY,
    table_id INTEGER,
    sql TEXT
);

CREATE TABLE change_contract_families (
    family TEXT,
    table_name TEXT,
    PRIMARY KEY (family, table_name)
) WITHOUT ROWID;

-- The journal. row_key has no type, so that a key is stored as it is.
CREATE TABLE change_contract_log (
    seq INTEGER PRIMARY KEY,
    table_id,
    op,
    row_key
);

-- The keys of rows that a REPLACE may be about to delete without a word. A note is made before a write,
-- for the value of a unique index (its place, the value) that the row stands in the way of, and settled
-- after it. What is left of statements that replaced nothing does no harm and is bounded.
CREATE TABLE change_contract_notes (
    note INTEGER PRIMARY KEY,
    table_id,
    place,
    value,
    k1, k2, k3, k4, k5, k6, k7, k8
);

CREATE INDEX change_contract_notes_value ON change_contract_notes (table_id, place, value);

CREATE INDEX change_contract_notes_key ON change_contract_notes (table_id, k1);

-- Makes whole numbers of the REALs in composite keys, exactly: one from least on, times both factors, is
-- one, and times 2^exponent again the REAL.
CREATE TABLE change_contract_powers (
    least REAL PRIMARY KEY,
    factor REAL,
    factor2 REAL,
    exponent INTEGER
);

-- A table's trigger only appends to the log; the rest of an entry is done here, once for all tables.
-- 64 values are pruned at a time: few enough to stay in memory if the statement is rolled back.
CREATE TRIGGER change_contract_log_prune AFTER INSERT ON change_contract_log BEGIN
    UPDATE change_contract_positions SET value = NEW.seq WHERE id = 0;
    UPDATE change_contract_positions SET value = NEW.seq WHERE id = NEW.table_id;
    DELETE FROM change_contract_log
        WHERE NEW.seq & 63 = 0
            AND seq <= NEW.seq - (SELECT value FROM change_contract_positions WHERE id = -2);
END;
