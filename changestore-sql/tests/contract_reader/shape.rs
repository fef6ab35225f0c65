//! What DDL past the owner's commands has done to the contract or to a tracked table: the reader says so, and goes
//! on saying it until the owner has put it right.

use changestore_sql::contract::{Poll, RebuildReason};

use crate::archive::{Archive, plan};

/// The reason, of a reader that saw it happen and of a new one, at each of two polls.
async fn reason_after(archive: &Archive, ddl: &str) -> RebuildReason {
    let mut reader = archive.reader("rows").await;
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    assert!(matches!(
        reader.poll(cursor.as_ref()).await.unwrap(),
        Poll::Unchanged { .. }
    ));
    archive.run(ddl);
    let mut reasons = Vec::new();
    for mut reader in [reader, archive.reader("rows").await] {
        let mut cursor = cursor.clone();
        for _ in 0..2 {
            match reader.poll(cursor.as_ref()).await.unwrap() {
                Poll::Rebuild { reason, next } => {
                    reasons.push(reason);
                    cursor = next.or(cursor);
                }
                other => panic!("not a rebuild after {ddl}: {other:?}"),
            }
        }
    }
    assert!(
        reasons.iter().all(|reason| *reason == reasons[0]),
        "{ddl}: {reasons:?}"
    );
    reasons.remove(0)
}

fn unarmed(table: &str) -> RebuildReason {
    RebuildReason::Unarmed(table.into())
}

#[tokio::test]
async fn a_unique_index_through_which_replace_could_delete_unseen() {
    let archive = Archive::enabled().await;
    let index = "CREATE UNIQUE INDEX fresh ON plain(v)";
    assert_eq!(reason_after(&archive, index).await, unarmed("plain"));
    // What it is about.
    archive.run("INSERT INTO plain VALUES (1, 'same'); REPLACE INTO plain VALUES (2, 'same')");

    let mut reader = archive.reader("rows").await;
    archive.owner().await.enable(&plan()).await.unwrap();
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    archive.run("REPLACE INTO plain VALUES (3, 'same')");
    match reader.poll(cursor.as_ref()).await.unwrap() {
        Poll::Rows(changes) => {
            let mut keys: Vec<_> = changes.rows.iter().map(|row| row.key.to_string()).collect();
            keys.sort();
            assert_eq!(keys, ["2", "3"]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_index_that_is_not_unique_is_any_other_ddl() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    archive.run("CREATE INDEX fresh ON plain(v)");
    let poll = reader.poll(cursor.as_ref()).await.unwrap();
    assert!(matches!(
        &poll,
        Poll::Rebuild {
            reason: RebuildReason::SchemaVersion,
            ..
        }
    ));
    let poll = reader.poll(poll.next()).await.unwrap();
    assert!(matches!(poll, Poll::Unchanged { .. }), "{poll:?}");
}

/// Triggers that the tables' three columns do not name.
fn others(archive: &Archive) -> Vec<(String, String)> {
    let connection = archive.connect();
    let mut statement = connection
        .prepare(
            "SELECT s.name, s.tbl_name FROM sqlite_schema s
             JOIN change_contract_tables t ON t.table_name = s.tbl_name
             WHERE s.type = 'trigger'
               AND s.sql NOT IN (t.insert_trigger, t.update_trigger, t.delete_trigger)",
        )
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_trigger_beside_the_three_that_is_missing() {
    let others = others(&Archive::enabled().await);
    assert!(others.len() > 8, "{others:?}");
    for (trigger, table) in others {
        let archive = Archive::enabled().await;
        let drop = format!("DROP TRIGGER {}", crate::archive::quoted(&trigger));
        let reason = reason_after(&archive, &drop).await;
        assert_eq!(reason, unarmed(&table), "{trigger}");
    }
}

#[tokio::test]
async fn a_trigger_beside_the_three_that_does_something_else() {
    let archive = Archive::enabled().await;
    let (trigger, table) = others(&archive).remove(0);
    let (trigger, on) = (
        crate::archive::quoted(&trigger),
        crate::archive::quoted(&table),
    );
    let alter = format!(
        "DROP TRIGGER {trigger};
         CREATE TRIGGER {trigger} AFTER UPDATE ON {on} BEGIN SELECT 1; END"
    );
    assert_eq!(reason_after(&archive, &alter).await, unarmed(&table));
}

/// All of the contract's, whether a reader's SQL names it or not.
#[tokio::test]
async fn a_contract_of_which_a_table_is_missing_is_none() {
    let tables: Vec<String> = {
        let connection = Archive::enabled().await.connect();
        let mut statement = connection
            .prepare(
                "SELECT type || ' ' || name FROM sqlite_schema
                 WHERE name LIKE 'change\\_contract\\_%' ESCAPE '\\' AND type <> 'trigger'
                   AND sql IS NOT NULL",
            )
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0));
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert!(tables.len() >= 7, "{tables:?}");
    for table in tables {
        let archive = Archive::enabled().await;
        let drop = format!("DROP {table}");
        assert_eq!(
            reason_after(&archive, &drop).await,
            RebuildReason::Absent,
            "{table}"
        );
        archive.owner().await.enable(&plan()).await.unwrap();
        let mut reader = archive.reader("rows").await;
        let cursor = reader.poll(None).await.unwrap().next().cloned();
        let poll = reader.poll(cursor.as_ref()).await.unwrap();
        assert!(matches!(poll, Poll::Unchanged { .. }), "{table}: {poll:?}");
    }
}

/// The log's trigger is what makes entries of the sequence.
#[tokio::test]
async fn a_log_whose_trigger_does_something_else() {
    let archive = Archive::enabled().await;
    let table: String = archive
        .connect()
        .query_row(
            "SELECT tbl_name FROM sqlite_schema WHERE name = 'change_contract_log_prune'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let alter = format!(
        "DROP TRIGGER change_contract_log_prune;
         CREATE TRIGGER change_contract_log_prune AFTER INSERT ON {table} BEGIN SELECT 1; END"
    );
    assert_eq!(reason_after(&archive, &alter).await, RebuildReason::Absent);
}

/// A rebuilt table with the old triggers put back on it: they journal what was the key.
#[tokio::test]
async fn a_table_with_another_key() {
    for (fresh, keys) in [
        ("k NOT NULL, v NOT NULL, PRIMARY KEY(k, v)", "composite"),
        (
            "k TEXT NOT NULL PRIMARY KEY COLLATE NOCASE, v",
            "of a collation",
        ),
        ("k NOT NULL UNIQUE, v NOT NULL PRIMARY KEY", "of a column"),
        ("k PRIMARY KEY, v", "that can be NULL"),
    ] {
        let archive = Archive::enabled().await;
        let triggers: Vec<String> = {
            let connection = archive.connect();
            let mut statement = connection
                .prepare(
                    "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'mixed'",
                )
                .unwrap();
            let rows = statement.query_map([], |row| row.get(0));
            rows.unwrap().map(Result::unwrap).collect()
        };
        let rebuild = format!(
            "DROP TABLE mixed; CREATE TABLE mixed({fresh}); {}",
            triggers.join("; ")
        );
        let reason = reason_after(&archive, &rebuild).await;
        assert_eq!(reason, unarmed("mixed"), "a key {keys}");
    }
}

#[tokio::test]
async fn a_view_in_the_place_of_a_table() {
    let archive = Archive::enabled().await;
    let replace = "DROP TABLE mixed; CREATE VIEW mixed AS SELECT id AS k, v FROM other";
    assert_eq!(reason_after(&archive, replace).await, unarmed("mixed"));
}

#[tokio::test]
async fn a_table_of_another_family_is_no_business() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("counted").await;
    archive.run("CREATE UNIQUE INDEX fresh ON mixed(v)");
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    let poll = reader.poll(cursor.as_ref()).await.unwrap();
    assert!(matches!(poll, Poll::Unchanged { .. }), "{poll:?}");
}
