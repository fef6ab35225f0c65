//! What REPLACE deletes through unique indexes, and what it leaves alone.

use crate::archive::Archive;

pub(crate) fn sorted(archive: &Archive, seq: i64) -> Vec<String> {
    let mut entries: Vec<_> = archive
        .changes_after(seq)
        .into_iter()
        .map(|(op, key)| format!("{op} {key}"))
        .collect();
    entries.sort();
    entries
}

/// Schema, statements before, statement, entries.
pub(crate) type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const CASES: &[Case] = &[
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "REPLACE INTO t VALUES (3, 'a')",
        &["1 3", "3 1"],
    ),
    // Two rows through two indexes.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE, w UNIQUE)",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
        "INSERT OR REPLACE INTO t VALUES (4, 'a', 2)",
        &["1 4", "3 1", "3 2"],
    ),
    // One row through two indexes, and the row with its own key through a third.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE, w UNIQUE)",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)",
        "INSERT OR REPLACE INTO t VALUES (2, 'a', 1)",
        &["1 2", "3 1"],
    ),
    // The row itself has the value: nothing else is deleted.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)",
        "INSERT INTO t VALUES (1, 'a')",
        "REPLACE INTO t VALUES (1, 'a')",
        &["1 1"],
    ),
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)",
        "INSERT INTO t VALUES (-1, 'a')",
        "REPLACE INTO t(u) VALUES ('a')",
        &["1 0", "3 -1"],
    ),
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, NULL)",
        "UPDATE OR REPLACE t SET u = 'a' WHERE k = 2",
        &["2 2", "3 1"],
    ),
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)",
        "UPDATE OR REPLACE t SET u = NULL, k = k + 10",
        &["1 11", "1 12", "1 13", "3 1", "3 2", "3 3"],
    ),
    // An index over two columns, one with another collation.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, a, b TEXT, UNIQUE (a, b COLLATE NOCASE))",
        "INSERT INTO t VALUES (1, 1, 'X'), (2, 1, 'y'), (3, 2, 'x'), (4, NULL, 'x')",
        "REPLACE INTO t VALUES (5, 1, 'x')",
        &["1 5", "3 1"],
    ),
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, a, b TEXT, UNIQUE (a, b COLLATE NOCASE))",
        "INSERT INTO t VALUES (4, NULL, 'x')",
        "REPLACE INTO t VALUES (5, NULL, 'x')",
        &["1 5"],
    ),
    // Equal under the index, not in type.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u INT UNIQUE)",
        "INSERT INTO t VALUES (1, 7)",
        "REPLACE INTO t VALUES (2, '7.0')",
        &["1 2", "3 1"],
    ),
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)",
        "INSERT INTO t VALUES (1, 7)",
        "REPLACE INTO t VALUES (2, 7.0)",
        &["1 2", "3 1"],
    ),
    // A generated column.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, g TEXT AS (lower(a)) UNIQUE)",
        "INSERT INTO t VALUES (1, 'A'), (2, 'B')",
        "REPLACE INTO t VALUES (3, 'a')",
        &["1 3", "3 1"],
    ),
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, g TEXT AS (lower(a)) STORED UNIQUE)",
        "INSERT INTO t VALUES (1, 'A'), (2, 'B')",
        "UPDATE OR REPLACE t SET a = 'a' WHERE k = 2",
        &["2 2", "3 1"],
    ),
    // NULL where it is not allowed becomes the default, and that is what conflicts.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 5 UNIQUE)",
        "INSERT INTO t VALUES (1, '5')",
        "REPLACE INTO t VALUES (2, NULL)",
        &["1 2", "3 1"],
    ),
    // A conflict clause of the constraint's own.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE ON CONFLICT REPLACE)",
        "INSERT INTO t VALUES (1, 'a')",
        "INSERT INTO t VALUES (2, 'a')",
        &["1 2", "3 1"],
    ),
    // A primary key that holds different keys to be the same.
    (
        "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY COLLATE NOCASE, v)",
        "INSERT INTO t VALUES ('A', 1), ('b', 2)",
        "REPLACE INTO t VALUES ('a', 3)",
        &["1 'a'", "3 'A'"],
    ),
    (
        "CREATE TABLE t(k TEXT PRIMARY KEY COLLATE NOCASE, v) WITHOUT ROWID",
        "INSERT INTO t VALUES ('A', 1), ('b', 2)",
        "UPDATE OR REPLACE t SET k = 'a' WHERE k = 'b'",
        &["1 'a'", "3 'A'", "3 'b'"],
    ),
    (
        "CREATE TABLE t(k NOT NULL PRIMARY KEY, v)",
        "INSERT INTO t VALUES (1, 1)",
        "REPLACE INTO t VALUES (1.0, 2)",
        &["1 1.0", "3 1"],
    ),
    // Keys of several columns, with and without row ids.
    (
        "CREATE TABLE t(a INT, b TEXT, u UNIQUE, PRIMARY KEY(a, b)) WITHOUT ROWID",
        "INSERT INTO t VALUES (1, 'x', 'a'), (1, 'y', 'b')",
        "REPLACE INTO t VALUES (2, 'z', 'a')",
        &["1 '[2,\"z\"]'", "3 '[1,\"x\"]'"],
    ),
    (
        "CREATE TABLE t(a INT NOT NULL, b NOT NULL, u UNIQUE, PRIMARY KEY(a, b))",
        "INSERT INTO t VALUES (1, x'01', 'a'), (1, 1.5, 'b')",
        "UPDATE OR REPLACE t SET u = 'a' WHERE b = 1.5",
        &[
            "2 '[1,{\"real\":[27021597764222976,-54]}]'",
            "3 '[1,{\"blob\":\"01\"}]'",
        ],
    ),
    (
        "CREATE TABLE t(u UNIQUE, v)",
        "INSERT INTO t VALUES ('a', 1), ('b', 2)",
        "REPLACE INTO t VALUES ('a', 3)",
        &["1 3", "3 1"],
    ),
    (
        "CREATE TABLE t(u UNIQUE, rowid, oid, v)",
        "INSERT INTO t(u) VALUES ('a'), ('b')",
        "UPDATE OR REPLACE t SET u = 'a' WHERE u = 'b'",
        &["2 2", "3 1"],
    ),
];

#[tokio::test]
async fn each_deleted_row_is_journaled_once() {
    are_journaled_once(CASES).await;
}

pub(crate) async fn are_journaled_once(cases: &[Case]) {
    for (create, before, statement, expected) in cases {
        for recursive in ["OFF", "ON"] {
            let archive = Archive::tracking(create, &["t"]).await;
            archive.run(&format!(
                "PRAGMA recursive_triggers = {recursive}; {before}"
            ));
            let seq = archive.seq();
            let rows = archive.number("SELECT count(*) FROM t");
            archive.run(statement);
            let mut entries = sorted(&archive, seq);
            if recursive == "ON" {
                // SQLite's own: also the row whose key is written anew is deleted first.
                entries.retain(|entry| {
                    let (op, key) = entry.split_once(' ').unwrap();
                    op != "3" || !expected.contains(&&*format!("1 {key}"))
                });
            }
            assert_eq!(
                entries, *expected,
                "{create}; {statement}; recursive {recursive}"
            );
            assert!(archive.number("SELECT count(*) FROM t") <= rows + 1);
            let notes = archive.number("SELECT count(*) FROM change_contract_notes");
            assert_eq!(notes, 0, "{create}; {statement}: notes are left");
        }
    }
}

/// The latest entry of a key is what became of it.
#[tokio::test]
async fn a_key_that_is_deleted_and_inserted_again_ends_as_inserted() {
    let archive =
        Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE)", &["t"]).await;
    archive.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    for recursive in ["OFF", "ON"] {
        archive.run(&format!("PRAGMA recursive_triggers = {recursive}"));
        let seq = archive.seq();
        archive.run("REPLACE INTO t VALUES (1, 'b'), (2, 'b'), (1, 'b'), (2, 'x')");
        let changes = archive.changes_after(seq);
        let last = |key: &str| changes.iter().rfind(|(_, found)| found == key).unwrap().0;
        assert_eq!((last("1"), last("2")), (1, 1), "{recursive}: {changes:?}");
        archive.run("DELETE FROM t; INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    }
}

/// Conflicts that delete nothing leave notes behind. They are few, and nothing comes of them.
#[tokio::test]
async fn what_replaces_nothing_journals_nothing() {
    let archive =
        Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE, v)", &["t"]).await;
    archive.run(
        "BEGIN; WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO t SELECT i, 'u' || i, 0 FROM n; COMMIT",
    );
    let seq = archive.seq();
    archive.run(
        "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 25)
         INSERT OR IGNORE INTO t SELECT t.k + 10000, t.u, 1 FROM t, n;
         INSERT INTO t SELECT k + 10000, u, 1 FROM t WHERE true ON CONFLICT DO NOTHING;
         UPDATE OR IGNORE t SET u = 'u1' WHERE k > 2990;",
    );
    assert_eq!(sorted(&archive, seq), [""; 0]);
    let left = archive.number("SELECT count(*) FROM change_contract_notes");
    assert!((3000..=65_536).contains(&left), "{left} notes");
    archive
        .writer
        .execute("INSERT OR FAIL INTO t VALUES (50000, 'u7', 1)", [])
        .unwrap_err();
    archive
        .writer
        .execute("INSERT INTO t VALUES (50000, 'u7', 1)", [])
        .unwrap_err();
    assert_eq!(archive.seq(), seq);
    // The rows of stale notes are changed and deleted like any others.
    archive.run(
        "DELETE FROM t WHERE k > 2998; UPDATE t SET k = -1 WHERE k = 2998;
         INSERT INTO t VALUES (60000, 'u3000', 2), (60001, 'u2999', 2);",
    );
    let expected = ["1 -1", "1 60000", "1 60001", "3 2998", "3 2999", "3 3000"];
    assert_eq!(sorted(&archive, seq), expected);
    let seq = archive.seq();
    archive.run("REPLACE INTO t VALUES (70000, 'u2998', 3)");
    assert_eq!(sorted(&archive, seq), ["1 70000", "3 -1"]);
}

#[tokio::test]
async fn an_upsert_on_the_unique_column_is_an_update_alone() {
    let archive =
        Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE, v)", &["t"]).await;
    archive.run("INSERT INTO t VALUES (1, 'a', 0)");
    for n in 0..5 {
        let seq = archive.seq();
        archive.run(&format!(
            "INSERT INTO t(u, v) VALUES ('a', {n}) ON CONFLICT(u) DO UPDATE SET v = excluded.v"
        ));
        assert_eq!(sorted(&archive, seq), ["2 1"]);
    }
    let seq = archive.seq();
    archive.run("INSERT INTO t(u) VALUES ('a') ON CONFLICT(u) DO UPDATE SET k = 8, u = 'b'");
    assert_eq!(sorted(&archive, seq), ["1 8", "3 1"]);
}

/// A user's trigger writes to the same table in between, also with a REPLACE of its own.
#[tokio::test]
async fn nested_statements_keep_their_notes_apart() {
    let schema = "
        CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE, parent REFERENCES t(k) ON DELETE SET NULL);
        CREATE TRIGGER more AFTER INSERT ON t WHEN NEW.k < 100 BEGIN
            REPLACE INTO t(k, u) VALUES (NEW.k + 100, 'nested');
            INSERT OR IGNORE INTO t(k, u) VALUES (NEW.k + 200, NEW.u);
            UPDATE t SET u = u WHERE k = NEW.k;
        END;";
    let archive = Archive::tracking(schema, &["t"]).await;
    archive.run("INSERT INTO t(k, u) VALUES (1, 'a')");
    archive.run("INSERT INTO t(k, u) VALUES (2, 'b')");
    assert_eq!(
        sorted(&archive, 0),
        ["1 1", "1 101", "1 102", "1 2", "2 1", "2 2", "3 101"]
    );
    archive.run("INSERT INTO t(k, u, parent) VALUES (500, 'child', 1)");
    let seq = archive.seq();
    // Deletes 1, whose child is updated; the nested REPLACE deletes 102.
    archive.run("REPLACE INTO t(k, u) VALUES (3, 'a')");
    // The outer clause holds within: the second nested statement replaces the row just written.
    let changes = archive.changes_after(seq);
    let last = |key: &str| {
        changes
            .iter()
            .rfind(|(_, found)| found == key)
            .map(|(op, _)| *op)
    };
    let there: Vec<i64> = archive
        .writer
        .prepare("SELECT k FROM t ORDER BY k")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(there, [2, 103, 203, 500]);
    for (key, op) in [
        ("1", 3),
        ("102", 3),
        ("3", 3),
        ("103", 1),
        ("203", 1),
        ("500", 2),
    ] {
        assert_eq!(last(key), Some(op), "{key}: {changes:?}");
    }
    assert_eq!(last("2"), None);
}

#[tokio::test]
async fn the_status_names_the_indexes_that_cannot_be_seen_through() {
    let schema = "
        CREATE TABLE t(k INTEGER PRIMARY KEY, a, b, c UNIQUE);
        CREATE UNIQUE INDEX partial_one ON t(a) WHERE b > 0;
        CREATE UNIQUE INDEX expression_one ON t(a || b);
        CREATE INDEX plain_one ON t(b);";
    let archive = Archive::tracking(schema, &["t"]).await;
    let warnings = archive.owner.status().await.unwrap().warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for name in ["partial_one", "expression_one"] {
        assert!(
            warnings.iter().any(|warning| warning.contains(name)),
            "{warnings:?}"
        );
    }
    // The others are still seen through.
    archive.run("INSERT INTO t VALUES (1, 'a', 1, 'c'); REPLACE INTO t VALUES (2, 'b', 1, 'c')");
    assert_eq!(sorted(&archive, 1), ["1 2", "3 1"]);
}

/// A unique index that comes later arms the table anew.
#[tokio::test]
async fn a_new_unique_index_is_a_reason_to_arm() {
    let archive = Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, u)", &["t"]).await;
    archive.run("CREATE UNIQUE INDEX i ON t(u); INSERT INTO t VALUES (1, 'a')");
    let status = archive.owner.status().await.unwrap();
    assert!(status.tables[0].unarmed.is_some());
    let enabled = archive.owner.rearm().await.unwrap().unwrap();
    assert_eq!(enabled.rearmed, ["t"]);
    let seq = archive.seq();
    archive.run("REPLACE INTO t VALUES (2, 'a')");
    assert_eq!(sorted(&archive, seq), ["1 2", "3 1"]);
}

/// What a trigger before the write cannot know is told by the status.
#[tokio::test]
async fn an_index_over_a_column_generated_from_an_automatic_id_is_warned_of() {
    let warnings = async |schema| {
        let archive = Archive::tracking(schema, &["t"]).await;
        archive.owner.status().await.unwrap().warnings
    };
    let found =
        warnings("CREATE TABLE t(id INTEGER PRIMARY KEY, v, g AS (id % 10) STORED, UNIQUE(v, g))")
            .await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("generated column"), "{found:?}");
    for covered in [
        "CREATE TABLE t(v, g AS (v + 1) STORED UNIQUE)",
        "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v, g AS (v + 1) UNIQUE)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE, g AS (id + 1))",
    ] {
        assert_eq!(warnings(covered).await, [""; 0], "{covered}");
    }
}
