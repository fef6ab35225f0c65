#!/usr/bin/env python3
"""Which rows of a SQLite archive changed since the last call: a reader of the change contract.

    python3 change_contract_reader.py FILE FAMILY CURSORFILE

prints the decision, `unchanged`, `rows` or `rebuild: REASON`, then one line per changed row, and stores
the cursor for the next call. Only the standard library is needed; the SQL is that of the contract's
description, word for word, and works from any language.
"""

import json
import math
import os
import sqlite3
import sys

# Step 1. Contract identity and cursor.
SCHEMA_VERSION = "PRAGMA schema_version"
STATE = """
SELECT s.contract_version, s.epoch, s.generation, q.value, q.pruned_through
FROM change_contract_state s, change_contract_sequence q
"""

# Step 2. Every present table of family F must be tracked and armed (expect 0) …
UNARMED = """
SELECT count(*) FROM change_contract_families f
JOIN sqlite_schema m ON m.type = 'table' AND m.name = f.table_name
LEFT JOIN change_contract_tables t ON t.table_name = f.table_name
WHERE f.family = :F
  AND (t.table_id IS NULL OR (SELECT count(*) FROM sqlite_schema s
       WHERE s.type = 'trigger' AND s.tbl_name = t.table_name
         AND s.sql IN (t.insert_trigger, t.update_trigger, t.delete_trigger)) <> 3)
"""
# … and the log's own trigger be there (expect 1).
PRUNE_TRIGGER = """
SELECT count(*) FROM sqlite_schema
WHERE type = 'trigger' AND name = 'change_contract_log_prune'
"""

# Step 3. Changed since cursor C?
LAST = """
SELECT max(t.last_seq) FROM change_contract_families f
JOIN change_contract_tables t ON t.table_name = f.table_name
WHERE f.family = :F
"""
TABLE_MODE = """
SELECT count(*) FROM change_contract_families f
JOIN change_contract_tables t ON t.table_name = f.table_name
WHERE f.family = :F AND t.mode = 'table' AND t.last_seq > :C_seq
"""

# Step 4. Incremental rows.
CHANGES = """
SELECT l.seq, t.table_name, t.key_columns, l.op, l.row_key
FROM change_contract_log l
JOIN change_contract_tables t ON t.table_id = l.table_id
JOIN change_contract_families f ON f.table_name = t.table_name AND f.family = :F
WHERE l.seq > :C_seq AND l.seq <= :seq ORDER BY l.seq
"""

OPERATIONS = {1: "insert", 2: "update", 3: "delete"}


def identity(path):
    """Device and inode: a restored or swapped copy is another file. (Python 3.11 sees no time of birth.)"""
    status = os.stat(path)
    return {"device": status.st_dev, "inode": status.st_ino, "born_ns": None}


def open_archive(path):
    """A connection that reads only, and the identity of the very file that it has open."""
    while True:
        before = identity(path)
        connection = sqlite3.connect("file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
                                     + "?mode=ro", uri=True, isolation_level=None)
        connection.execute(SCHEMA_VERSION).fetchone()
        if identity(path) == before:
            return connection, before
        connection.close()


def decide(connection, file, family, cursor):
    """Steps 1 to 4, inside of the caller's read transaction.

    Returns (decision, reason, next cursor, changes); a change is (table, key columns, key, operation),
    one for each distinct key, with its latest operation.
    """
    schema_version = connection.execute(SCHEMA_VERSION).fetchone()[0]
    try:
        state = connection.execute(STATE).fetchone()
        if state is None:
            return "rebuild", "absent", None, []
        version, epoch, generation, seq, pruned = state
        if version != 1:
            return "rebuild", "unknown version", None, []
        armed = (connection.execute(UNARMED, {"F": family}).fetchone()[0] == 0
                 and connection.execute(PRUNE_TRIGGER).fetchone()[0] == 1)
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return "rebuild", "absent", None, []
        raise

    here = {"epoch": epoch, "generation": generation, "schema_version": schema_version,
            "seq": seq, "file": file}
    if not armed:
        return "rebuild", "unarmed", here, []
    if cursor is None:
        return "rebuild", "no cursor", here, []
    if any(cursor["file"][part] != file[part] for part in ("device", "inode")):
        return "rebuild", "file replaced", here, []
    for part in ("epoch", "generation", "schema_version"):
        if cursor[part] != here[part]:
            return "rebuild", part.replace("_", " "), here, []
    if seq < cursor["seq"]:
        return "rebuild", "sequence behind", here, []

    last = connection.execute(LAST, {"F": family}).fetchone()[0]
    if last is None:
        raise SystemExit(f"the archive has no family {family!r}")
    since = {"F": family, "C_seq": cursor["seq"]}
    if last <= cursor["seq"]:
        return "unchanged", None, here, []
    if cursor["seq"] < pruned:
        return "rebuild", "pruned", here, []
    if connection.execute(TABLE_MODE, since).fetchone()[0] > 0:
        return "rebuild", "table mode", here, []

    latest = {}
    for _, table, key_columns, op, row_key in connection.execute(CHANGES, {**since, "seq": seq}):
        # Python holds 1 and 1.0 to be equal; as keys they are two.
        identified = (table, type(row_key), row_key)
        latest.pop(identified, None)
        latest[identified] = (table, json.loads(key_columns), row_key, OPERATIONS[op])
    return "rows", None, here, list(latest.values())


def key_parts(key_columns, row_key):
    """The key's values. A single one stands as it is; several are a JSON array, in which a BLOB is
    {"blob": "HEX"}, a text with control characters {"text": "HEX"}, and a REAL is 1.0, 9e999 (infinity) or
    {"real": [m, e]}, which is m * 2 ** e."""
    if len(key_columns) == 1:
        return [row_key]
    return [key_part(part) for part in json.loads(row_key)]


def key_part(part):
    if not isinstance(part, dict):
        return part
    if "blob" in part:
        return bytes.fromhex(part["blob"])
    for tag, encoding in (("text", "utf-8"), ("utf16le", "utf-16-le"), ("utf16be", "utf-16-be")):
        if tag in part:
            return bytes.fromhex(part[tag]).decode(encoding)
    return math.ldexp(*part["real"])


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def read_row(connection, table, key_columns, row_key):
    """The row with exactly this key, or None if it was deleted.

    The first comparison uses the key's index and its collation; the others tell 1 from 1.0, and under NOCASE
    a from A.
    """
    if not connection.execute(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", [table]).fetchone():
        return None  # Dropped or renamed: no row of this table is left.
    parts = key_parts(key_columns, row_key)
    exactly = " AND ".join(
        f"{name} = ?{i} AND typeof({name}) = typeof(?{i}) AND {name} = ?{i} COLLATE BINARY"
        for i, name in enumerate(map(quote, key_columns), start=1))
    cursor = connection.execute(f"SELECT * FROM {quote(table)} WHERE {exactly}", parts)
    row = cursor.fetchone()
    return row and dict(zip((column[0] for column in cursor.description), row))


def printable(value):
    return {"blob": value.hex().upper()} if isinstance(value, bytes) else value


def main(path, family, cursor_file):
    cursor = None
    if os.path.exists(cursor_file):
        with open(cursor_file, encoding="utf-8") as stored:
            cursor = json.load(stored)

    connection, file = open_archive(path)
    # One read transaction: the cursor and the rows are of one snapshot.
    connection.execute("BEGIN")
    decision, reason, cursor, changes = decide(connection, file, family, cursor)
    print(decision if reason is None else f"{decision}: {reason}")
    for table, key_columns, row_key, operation in changes:
        row = read_row(connection, table, key_columns, row_key)
        now = "deleted" if row is None else json.dumps(
            {name: printable(value) for name, value in row.items()}, ensure_ascii=False)
        key = json.dumps([printable(part) for part in key_parts(key_columns, row_key)], ensure_ascii=False)
        print(operation, table, key, now, sep="\t")
    connection.execute("COMMIT")
    connection.close()

    # Stored last: if the program dies before, the next call says the same again.
    if cursor is None:
        if os.path.exists(cursor_file):
            os.remove(cursor_file)
        return
    with open(cursor_file + ".new", "w", encoding="utf-8") as stored:
        json.dump(cursor, stored)
    os.replace(cursor_file + ".new", cursor_file)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
