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


class Archive:
    """The connections to the file that was asked for last: opening one reads the whole schema."""

    def __init__(self, path):
        self.path = path
        self.reader, self.file = reader.open_archive(path)
        self.writer = sqlite3.connect(path, isolation_level=None)
        self.writer.execute("PRAGMA synchronous = OFF")

    def close(self):
        self.reader.close()
        self.writer.close()


archive = None


def opened(path):
    global archive
    if archive is None or archive.path != path:
        if archive is not None:
            archive.close()
        archive = Archive(path)
    return archive


def poll(request):
    connection, file = opened(request["file"]).reader, archive.file
    connection.execute("BEGIN")
    try:
        decision, reason, cursor, changes = reader.decide(connection, file, request["family"], request["cursor"])
        rows = []
        for table, key_columns, row_key, operation in changes:
            row = reader.read_row(connection, table, key_columns, row_key)
            rows.append([table, [typed(part) for part in reader.key_parts(key_columns, row_key)], operation,
                         row and [typed(value) for value in row.values()]])
        return {"decision": decision, "reason": reason, "cursor": cursor, "rows": rows}
    finally:
        connection.execute("COMMIT")


def write(request):
    """Runs the statements; one that breaks a constraint is undone alone, like anywhere else."""
    writer = opened(request["file"]).writer
    for statement in request["statements"]:
        try:
            writer.execute(statement)
        except sqlite3.IntegrityError:
            pass
    return {}


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
