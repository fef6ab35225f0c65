//! Writes that no statement of the writer's names: cascades, triggers, and tables under another schema's name.

use crate::archive::Archive;

#[tokio::test]
async fn cascades_are_journaled_where_they_happen() {
    let schema = "
        CREATE TABLE p(k INTEGER PRIMARY KEY);
        CREATE TABLE c(k INTEGER PRIMARY KEY,
            p INTEGER REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
        CREATE TABLE n(p INTEGER PRIMARY KEY REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
        INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (10, 1), (11, 1), (12, 2);
        INSERT INTO n VALUES (1);";
    let archive = Archive::tracking(schema, &["p", "c", "n"]).await;
    let sorted = |seq| {
        let mut entries: Vec<_> = archive
            .log_after(seq)
            .into_iter()
            .map(|(_, table, op, key)| format!("{table} {op} {key}"))
            .collect();
        entries.sort();
        entries
    };
    archive.run("UPDATE p SET k = 5 WHERE k = 1");
    assert_eq!(
        sorted(0),
        ["c 2 10", "c 2 11", "n 1 5", "n 3 1", "p 1 5", "p 3 1"]
    );
    let seq = archive.seq();
    archive.run("DELETE FROM p WHERE k = 5");
    assert_eq!(sorted(seq), ["c 3 10", "c 3 11", "n 3 5", "p 3 5"]);
    let seq = archive.seq();
    // REPLACE deletes the parent for a moment, and the children for good.
    archive.run("REPLACE INTO p VALUES (2)");
    assert_eq!(sorted(seq), ["c 3 12", "p 1 2"]);
}

#[tokio::test]
async fn tables_with_triggers_of_their_own_are_journaled_in_full() {
    let schema = "
        CREATE TABLE t(k INTEGER PRIMARY KEY, v, n DEFAULT 0);
        CREATE TABLE u(k INTEGER PRIMARY KEY, v);
        CREATE TRIGGER before_t BEFORE INSERT ON t BEGIN INSERT INTO u VALUES (NULL, 'before'); END;
        CREATE TRIGGER after_t AFTER INSERT ON t BEGIN
            UPDATE t SET n = n + 1 WHERE k = NEW.k;
            INSERT OR IGNORE INTO u VALUES (100, NEW.v);
        END;
        CREATE VIEW w AS SELECT k, v FROM t;
        CREATE TRIGGER into_w INSTEAD OF INSERT ON w BEGIN INSERT INTO t(k, v) VALUES (NEW.k, NEW.v); END;";
    let archive = Archive::tracking(schema, &["t", "u"]).await;
    let counts = |seq| {
        let mut entries: Vec<_> = archive
            .log_after(seq)
            .into_iter()
            .map(|(_, table, op, key)| format!("{table} {op} {key}"))
            .collect();
        entries.sort();
        entries
    };
    archive.run("INSERT INTO t(k, v) VALUES (1, 'a')");
    assert_eq!(counts(0), ["t 1 1", "t 2 1", "u 1 1", "u 1 100"]);
    let seq = archive.seq();
    archive.run("INSERT INTO w VALUES (2, 'b')");
    assert_eq!(counts(seq), ["t 1 2", "t 2 2", "u 1 101"]);
    let seq = archive.seq();
    // The outer clause overrides those within, the journal's as well.
    archive.run("INSERT OR REPLACE INTO t(k, v) VALUES (2, 'c')");
    assert_eq!(counts(seq), ["t 1 2", "t 2 2", "u 1 100", "u 1 102"]);
    let seq = archive.seq();
    archive.run("INSERT OR IGNORE INTO t(k, v) VALUES (2, 'c')");
    // The user's own BEFORE trigger writes though nothing is inserted.
    assert_eq!(counts(seq), ["u 1 103"]);
}

#[tokio::test]
async fn writes_through_attach_are_journaled_in_the_file_they_go_to() {
    let archive = Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, v)", &["t"]).await;
    let other = rusqlite::Connection::open_in_memory().unwrap();
    // Names that the triggers must not take for their own.
    other
        .execute_batch(
            "CREATE TABLE change_contract_entries(seq, a, b, c); CREATE TABLE t(k, v);
             CREATE TEMP TABLE change_contract_positions(id, value);",
        )
        .unwrap();
    other
        .execute("ATTACH ?1 AS x", [archive.path.to_str().unwrap()])
        .unwrap();
    other
        .execute_batch(
            "INSERT INTO x.t VALUES (1, 'a'); UPDATE x.t SET k = 2; INSERT INTO t VALUES (9, 9)",
        )
        .unwrap();
    let expected = [(1, "1"), (3, "1"), (1, "2")].map(|(op, key)| (op, key.to_owned()));
    assert_eq!(archive.changes_after(0), expected);
    let alien: i64 = other
        .query_row(
            "SELECT count(*) FROM main.change_contract_entries",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(alien, 0);
}

/// SQLite runs the newest trigger first. One that fails with FAIL leaves the row, and the contract's not run: so
/// they must be the newest.
#[tokio::test]
async fn a_newer_trigger_disarms_a_table_until_it_is_armed_again() {
    let archive = Archive::tracking("CREATE TABLE t(k INTEGER PRIMARY KEY, v)", &["t"]).await;
    archive.run(
        "CREATE TRIGGER before BEFORE INSERT ON t BEGIN SELECT 1; END;
         CREATE TRIGGER strict AFTER INSERT ON t WHEN NEW.v = 9 BEGIN SELECT raise(FAIL, 'no'); END",
    );
    let unarmed = archive.owner.status().await.unwrap().tables[0]
        .unarmed
        .clone();
    assert!(
        unarmed
            .clone()
            .is_some_and(|why| why.contains("\"strict\"")),
        "{unarmed:?}"
    );
    let rearmed = archive.owner.rearm().await.unwrap().unwrap();
    assert_eq!(rearmed.rearmed, ["t"]);
    assert_eq!(
        archive.owner.status().await.unwrap().tables[0].unarmed,
        None
    );
    archive
        .writer
        .execute("INSERT INTO t VALUES (2, 9)", [])
        .unwrap_err();
    assert_eq!(archive.number("SELECT count(*) FROM t"), 1);
    assert_eq!(archive.changes_after(0), [(1, "2".to_owned())]);
}
