-- One row: which contract this is. A reader's cursor holds epoch and generation.
CREATE TABLE change_contract_state (
    contract_version INTEGER,
    epoch TEXT,
    generation INTEGER,
    retention INTEGER,
    next_table_id INTEGER,
    generation_reason TEXT
);

-- What is written at every 64th change only: id 0 is the sequence then, -1 what was pruned under another
-- retention, -2 the retention, any other a table's last_seq then.
CREATE TABLE change_contract_positions (
    id INTEGER PRIMARY KEY,
    value INTEGER
);

-- The journal. SQLite's own choice of the next seq is the sequence: one more than the greatest, which is never
-- pruned. A key's columns are stored as they are, since nothing is cheaper and nothing is lost; from the fourth on
-- they are one text in k4. A change of a table in table mode has a number, and neither op nor key.
CREATE TABLE change_contract_entries (
    seq INTEGER PRIMARY KEY,
    table_id,
    op,
    k1, k2, k3, k4
);

-- The journal as readers know it: a key of several columns is a JSON array. No part of a key is NULL.
CREATE VIEW change_contract_log (seq, table_id, op, row_key) AS
    SELECT e.seq, e.table_id, e.op,
        CASE WHEN e.k2 IS NULL THEN e.k1
        WHEN e.k3 IS NULL THEN '[' || {e.k1} || ',' || {e.k2} || ']'
        WHEN e.k4 IS NULL THEN '[' || {e.k1} || ',' || {e.k2} || ',' || {e.k3} || ']'
        ELSE '[' || {e.k1} || ',' || {e.k2} || ',' || {e.k3} || ',' || e.k4 || ']' END
    FROM change_contract_entries e WHERE e.op IS NOT NULL;

-- One row, read through the name that readers know. Whatever is at a multiple of 64 prunes to the
-- retention, so how far follows from the sequence and need not be written.
CREATE VIEW change_contract_sequence (value, pruned_through, next_prune) AS
    SELECT q.value, max(p.value, s.value - r.value), (q.value | 63) + 1
    FROM change_contract_positions s, change_contract_positions p, change_contract_positions r,
        (SELECT max(c.value, ifnull((SELECT max(e.seq) FROM change_contract_entries e), 0)) AS value
            FROM change_contract_positions c WHERE c.id = 0) q
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
        max(
            (SELECT p.value FROM change_contract_positions p WHERE p.id = d.table_id),
            ifnull((
                SELECT max(e.seq) FROM change_contract_entries e
                WHERE e.table_id = d.table_id
                    AND e.seq > (SELECT s.value FROM change_contract_positions s WHERE s.id = 0)), 0)),
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

-- A table's trigger only appends an entry. What else there is to do is done once for 64 of them, in a trigger of
-- its own: what this one could have to do would cost each entry some memory.
CREATE TRIGGER change_contract_log_prune AFTER INSERT ON change_contract_entries
    WHEN NEW.seq & 63 = 0 OR NEW.seq = 1
BEGIN
    UPDATE change_contract_positions SET value = NEW.seq WHERE id = 0;
END;

-- Notes the last changes of the tables that were written since the last time, and prunes. If somebody has emptied
-- the journal, SQLite counts from 1 again: the first entry is given a number that none has had.
CREATE TRIGGER change_contract_checkpoint AFTER UPDATE ON change_contract_positions
    WHEN NEW.id = 0
BEGIN
    INSERT OR REPLACE INTO change_contract_entries
        SELECT OLD.value + 64, e.table_id, e.op, e.k1, e.k2, e.k3, e.k4 FROM change_contract_entries e
        WHERE NEW.value < OLD.value AND e.seq = NEW.value;
    DELETE FROM change_contract_entries WHERE NEW.value < OLD.value AND seq = NEW.value;
    UPDATE change_contract_positions SET value = OLD.value + 64
        WHERE NEW.value < OLD.value AND id = 0;
    UPDATE change_contract_positions SET value = (
            SELECT max(e.seq) FROM change_contract_entries e
            WHERE e.seq > NEW.value - 64 AND e.table_id = change_contract_positions.id)
        WHERE id IN (SELECT e.table_id FROM change_contract_entries e WHERE e.seq > NEW.value - 64);
    DELETE FROM change_contract_entries
        WHERE seq <= NEW.value - (SELECT r.value FROM change_contract_positions r WHERE r.id = -2);
END;
