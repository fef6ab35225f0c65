"""The example's reader, driven over lines of JSON: what the Rust reader is compared with.

Also another process, with another build of SQLite, that writes to the archive.
"""

import json
import os
import sqlite3
import struct
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import change_contract_reader as reader  # noqa: E402  (found through the path above)


def typed(value):
    """A value and its type as one text, the same on both sides."""
    if value is None:
        return "n"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "r" + struct.pack(">d", value).hex()
    if isinstance(value, bytes):
        return "b" + value.hex()
    return "t" + value


def poll(request):
    connection, file = reader.open_archive(request["file"])
    try:
        connection.execute("BEGIN")
        decision, reason, cursor, changes = reader.decide(connection, file, request["family"], request["cursor"])
        rows = []
        for table, key_columns, row_key, operation in changes:
            row = reader.read_row(connection, table, key_columns, row_key)
            rows.append([table, [typed(part) for part in reader.key_parts(key_columns, row_key)], operation,
                         row and [typed(value) for value in row.values()]])
        connection.execute("COMMIT")
        return {"decision": decision, "reason": reason, "cursor": cursor, "rows": rows}
    finally:
        connection.close()


def write(request):
    """Runs the statements; one that breaks a constraint is undone alone, like anywhere else."""
    connection = sqlite3.connect(request["file"], isolation_level=None)
    try:
        for statement in request["statements"]:
            try:
                connection.execute(statement)
            except sqlite3.IntegrityError:
                pass
        return {}
    finally:
        connection.close()


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"poll": poll, "write": write}[request["do"]](request)
        except Exception as error:  # told to the test, which fails with it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
