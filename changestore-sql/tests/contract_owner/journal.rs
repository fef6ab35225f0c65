//! Every kind of statement on every shape of table: the entries, their numbers, and the writer's own result.

use crate::archive::Archive;

/// Tables with a key `k` (and others) that hold the rows 1 and 2, and what their keys look like in the log.
struct Shape {
    create: &'static str,
    /// The log's form of the key of row n.
    key: fn(i64) -> String,
    has_declared_key: bool,
}

fn plain(n: i64) -> String {
    n.to_string()
}

fn pair(n: i64) -> String {
    format!("'[{n},\"x\"]'")
}

const SHAPES: &[Shape] = &[
    Shape {
        create: "CREATE TABLE t(k INTEGER PRIMARY KEY, c DEFAULT 'x', v)",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER PRIMARY KEY AUTOINCREMENT, c DEFAULT 'x', v)",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER PRIMARY KEY DESC NOT NULL, c DEFAULT 'x', v)",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INT NOT NULL PRIMARY KEY, c DEFAULT 'x', v)",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INT PRIMARY KEY, c DEFAULT 'x', v) WITHOUT ROWID",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER PRIMARY KEY, c TEXT DEFAULT 'x', v ANY) STRICT",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k NOT NULL PRIMARY KEY, c DEFAULT 'x', v)",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER PRIMARY KEY, c DEFAULT 'x', v,
                 g AS (k + 1), s TEXT AS (c || v) STORED)",
        key: plain,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER NOT NULL, c TEXT NOT NULL DEFAULT 'x', v, PRIMARY KEY(k, c))",
        key: pair,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER, c TEXT DEFAULT 'x', v, PRIMARY KEY(k, c)) WITHOUT ROWID",
        key: pair,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k INTEGER NOT NULL, c TEXT NOT NULL DEFAULT 'x', v ANY,
                 PRIMARY KEY(k, c)) STRICT, WITHOUT ROWID",
        key: pair,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k NOT NULL, c NOT NULL DEFAULT 'x', v, PRIMARY KEY(k, c))",
        key: pair,
        has_declared_key: true,
    },
    Shape {
        create: "CREATE TABLE t(k, c DEFAULT 'x', v)",
        key: plain,
        has_declared_key: false,
    },
    // The row id under another of its names.
    Shape {
        create: "CREATE TABLE t(k, c DEFAULT 'x', v, rowid, oid)",
        key: plain,
        has_declared_key: false,
    },
];

/// What a statement on the rows 1 and 2 is to journal: ops and row numbers.
struct Case {
    sql: &'static str,
    entries: &'static [(i64, i64)],
    changes: i64,
    /// It needs a key to conflict on.
    conflicts: bool,
}

const fn case(sql: &'static str, entries: &'static [(i64, i64)], changes: i64) -> Case {
    Case {
        sql,
        entries,
        changes,
        conflicts: false,
    }
}

const fn conflict(sql: &'static str, entries: &'static [(i64, i64)], changes: i64) -> Case {
    Case {
        sql,
        entries,
        changes,
        conflicts: true,
    }
}

const CASES: &[Case] = &[
    case("INSERT INTO t(k, v) VALUES (3, 'c')", &[(1, 3)], 1),
    case(
        "INSERT INTO t(k, v) VALUES (3, 'c'), (4, 'd')",
        &[(1, 3), (1, 4)],
        2,
    ),
    case(
        "INSERT INTO t(k, v) SELECT k + 2, v FROM t",
        &[(1, 3), (1, 4)],
        2,
    ),
    case(
        "INSERT OR IGNORE INTO t(k, v) VALUES (3, 'c')",
        &[(1, 3)],
        1,
    ),
    case(
        "INSERT OR REPLACE INTO t(k, v) VALUES (3, 'c')",
        &[(1, 3)],
        1,
    ),
    case("INSERT OR FAIL INTO t(k, v) VALUES (3, 'c')", &[(1, 3)], 1),
    case("INSERT OR ABORT INTO t(k, v) VALUES (3, 'c')", &[(1, 3)], 1),
    case(
        "INSERT OR ROLLBACK INTO t(k, v) VALUES (3, 'c')",
        &[(1, 3)],
        1,
    ),
    case("UPDATE t SET v = 'z' WHERE k = 1", &[(2, 1)], 1),
    case("UPDATE t SET v = v", &[(2, 1), (2, 2)], 2),
    case("UPDATE t SET k = k WHERE k = 2", &[(2, 2)], 1),
    case("UPDATE OR IGNORE t SET v = 'z' WHERE k = 1", &[(2, 1)], 1),
    case("UPDATE OR REPLACE t SET v = 'z' WHERE k = 1", &[(2, 1)], 1),
    case("UPDATE t SET v = 'z' WHERE k = 9", &[], 0),
    case("DELETE FROM t WHERE k = 2", &[(3, 2)], 1),
    case("DELETE FROM t", &[(3, 1), (3, 2)], 2),
    case("DELETE FROM t WHERE k = 9", &[], 0),
    conflict("INSERT OR IGNORE INTO t(k, v) VALUES (1, 'z')", &[], 0),
    conflict(
        "INSERT INTO t(k, v) VALUES (1, 'z') ON CONFLICT DO NOTHING",
        &[],
        0,
    ),
    conflict(
        "INSERT OR IGNORE INTO t(k, v) VALUES (1, 'z'), (3, 'c'), (2, 'z')",
        &[(1, 3)],
        1,
    ),
    conflict(
        "INSERT OR REPLACE INTO t(k, v) VALUES (1, 'z')",
        &[(1, 1)],
        1,
    ),
    conflict("REPLACE INTO t(k, v) VALUES (1, 'z')", &[(1, 1)], 1),
    conflict("UPDATE t SET k = 5 WHERE k = 1", &[(3, 1), (1, 5)], 1),
    conflict("UPDATE OR IGNORE t SET k = 2 WHERE k = 1", &[], 0),
    conflict(
        "UPDATE OR REPLACE t SET k = 2 WHERE k = 1",
        &[(3, 1), (1, 2)],
        1,
    ),
];

#[tokio::test]
async fn every_statement_is_journaled_exactly_on_every_shape() {
    for shape in SHAPES {
        let schema = format!(
            "{}; INSERT INTO t(k, v) VALUES (1, 'a'), (2, 'b');",
            shape.create
        );
        let archive = Archive::tracking(&schema, &["t"]).await;
        assert_eq!(archive.unarmed(), 0);
        let cases = CASES
            .iter()
            .filter(|case| shape.has_declared_key || !case.conflicts);
        for case in cases {
            let context = format!("{}: {}", shape.create, case.sql);
            archive.run("BEGIN");
            archive.run("INSERT INTO t(k, v) VALUES (77, 'last')");
            let row_id = archive.writer.last_insert_rowid();
            archive.run("DELETE FROM t WHERE k = 77");
            let before = archive.seq();
            let changes = archive.writer.execute(case.sql, []).unwrap();
            assert_eq!(i64::try_from(changes).unwrap(), case.changes, "{context}");
            assert_eq!(
                archive.number("SELECT changes()"),
                case.changes,
                "{context}"
            );
            if case.entries.iter().all(|(op, _)| *op != 1) {
                assert_eq!(archive.writer.last_insert_rowid(), row_id, "{context}");
            }
            let expected: Vec<_> = case
                .entries
                .iter()
                .zip(before + 1..)
                .map(|(&(op, n), seq)| (seq, "t".to_owned(), op, (shape.key)(n)))
                .collect();
            assert_eq!(archive.log_after(before), expected, "{context}");
            let seq = before + i64::try_from(expected.len()).unwrap();
            assert_eq!(archive.seq(), seq, "{context}");
            let last = archive.number("SELECT last_seq FROM change_contract_tables");
            assert_eq!(last, seq, "{context}");
            archive.run("ROLLBACK");
        }
        assert_eq!(
            archive.log(),
            [],
            "{}: what was rolled back is in the log",
            shape.create
        );
        assert_eq!(archive.seq(), 0, "{}", shape.create);
    }
}

/// On the tables where a conflict is possible, with both settings of recursive triggers.
#[tokio::test]
async fn an_upsert_that_updates_is_an_update() {
    for shape in SHAPES.iter().filter(|shape| shape.has_declared_key) {
        let target = if (shape.key)(1) == "1" { "k" } else { "k, c" };
        for recursive in ["ON", "OFF"] {
            let archive = Archive::tracking(shape.create, &["t"]).await;
            archive.run(&format!("PRAGMA recursive_triggers = {recursive}"));
            let upsert = format!(
                "INSERT INTO t(k, v) VALUES (1, 'a'), (2, 'b'), (1, 'c')
                 ON CONFLICT({target}) DO UPDATE SET v = excluded.v"
            );
            assert_eq!(archive.writer.execute(&upsert, []).unwrap(), 3);
            let key = shape.key;
            let expected = vec![(1, key(1)), (1, key(2)), (2, key(1))];
            assert_eq!(archive.changes_after(0), expected, "{}", shape.create);
            archive.run(&format!(
                "INSERT INTO t(k, v) VALUES (2, 'z') ON CONFLICT({target}) DO UPDATE SET k = 9"
            ));
            let expected = vec![(3, key(2)), (1, key(9))];
            assert_eq!(archive.changes_after(3), expected, "{}", shape.create);
        }
    }
}

#[tokio::test]
async fn with_recursive_triggers_replace_journals_the_deletion_too() {
    let archive = Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, v)", &["t"]).await;
    archive.run("PRAGMA recursive_triggers = ON; INSERT INTO t VALUES (1, 'a')");
    archive.run("REPLACE INTO t VALUES (1, 'b')");
    let expected = [(1, "1"), (3, "1"), (1, "1")].map(|(op, key)| (op, key.to_owned()));
    assert_eq!(archive.changes_after(0), expected);
}

/// The statement fails halfway and keeps what it has done: so does the journal.
#[tokio::test]
async fn or_fail_keeps_the_entries_of_the_rows_that_it_keeps() {
    let archive = Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, v)", &["t"]).await;
    archive.run("INSERT INTO t VALUES (3, 'c')");
    for (verb, kept) in [
        ("INSERT OR FAIL", 2_i64),
        ("INSERT", 0),
        ("INSERT OR ABORT", 0),
    ] {
        let before = archive.seq();
        let sql = format!("{verb} INTO t VALUES (1, 'a'), (2, 'b'), (3, 'z'), (4, 'd')");
        archive.run("BEGIN");
        archive.writer.execute(&sql, []).unwrap_err();
        assert_eq!(archive.seq(), before + kept, "{verb}");
        assert_eq!(
            archive.number("SELECT count(*) FROM t WHERE k < 3"),
            kept,
            "{verb}"
        );
        archive.run("ROLLBACK");
        assert_eq!(archive.seq(), before);
    }
}

#[tokio::test]
async fn savepoints_take_their_entries_back() {
    let archive = Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, v)", &["t"]).await;
    archive.run(
        "BEGIN; INSERT INTO t VALUES (1, 'a'); SAVEPOINT s; INSERT INTO t VALUES (2, 'b');
         UPDATE t SET k = 7 WHERE k = 1; ROLLBACK TO s; DELETE FROM t WHERE k = 1; RELEASE s; COMMIT;",
    );
    let expected = [(1, "t", 1, "1"), (2, "t", 3, "1")]
        .map(|(seq, table, op, key)| (seq, table.to_owned(), op, key.to_owned()));
    assert_eq!(archive.log(), expected);
}

#[tokio::test]
async fn table_mode_counts_each_write_and_logs_none() {
    use changestore_sql::contract::{ContractPlan, Mode};
    let archive =
        Archive::bare("CREATE TABLE t(k, v); CREATE TABLE r(k INTEGER PRIMARY KEY)").await;
    let plan = ContractPlan::new()
        .with_table("t", Mode::Table)
        .with_table("r", Mode::Rows)
        .with_family("f", ["t", "r"]);
    archive.owner.enable(&plan).await.unwrap();
    assert_eq!(archive.unarmed(), 0);
    archive.run(
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'); UPDATE t SET k = 3 WHERE k = 1;
         INSERT INTO r VALUES (1); DELETE FROM t; INSERT OR IGNORE INTO t VALUES (1, 1);",
    );
    assert_eq!(archive.seq(), 7);
    let expected = [(4, "r".to_owned(), 1, "1".to_owned())];
    assert_eq!(archive.log(), expected);
    let last = |table| {
        archive.number(&format!(
            "SELECT last_seq FROM change_contract_tables WHERE table_name = '{table}'"
        ))
    };
    assert_eq!((last("t"), last("r")), (7, 4));
}

/// `SET rowid` changes an INTEGER PRIMARY KEY as well.
#[tokio::test]
async fn a_key_that_is_set_under_another_name_is_a_changed_key() {
    for (create, names) in [
        (
            "CREATE TABLE t(k INTEGER PRIMARY KEY, v)",
            &["k", "K", "rowid", "_rowid_", "oid", "ROWID"][..],
        ),
        ("CREATE TABLE t(k, v)", &["rowid", "_rowid_", "oid"]),
        ("CREATE TABLE t(k, v, rowid)", &["_rowid_", "oid"]),
    ] {
        let archive = Archive::tracking(create, &["t"]).await;
        archive.run("INSERT INTO t(k, v) VALUES (1, 'a')");
        for (n, name) in (1..).zip(names) {
            let before = archive.seq();
            archive.run(&format!("UPDATE t SET {name} = {}", n + 1));
            let expected = vec![(3, n.to_string()), (1, (n + 1).to_string())];
            assert_eq!(archive.changes_after(before), expected, "{create} {name}");
        }
    }
}

/// Names of the row id that are columns are not the key.
#[tokio::test]
async fn a_column_that_is_called_rowid_is_a_column() {
    let archive =
        Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, rowid, oid)", &["t"]).await;
    archive.run("INSERT INTO t VALUES (1, 5, 6); UPDATE t SET rowid = 7, oid = 8");
    assert_eq!(
        archive.changes_after(0),
        [(1, "1".to_owned()), (2, "1".to_owned())]
    );
}
