//! Every reason for a rebuild, each told by its name, and what the reader says once it is over.

use std::path::Path;

use changestore_sql::contract::{ContractPlan, ContractReader, Cursor, Poll, RebuildReason};

use crate::archive::{Archive, connect};

async fn reason(reader: &mut ContractReader, cursor: Option<&Cursor>) -> RebuildReason {
    match reader.poll(cursor).await.unwrap() {
        Poll::Rebuild { reason, .. } => reason,
        other => panic!("not a rebuild: {other:?}"),
    }
}

/// The cursor that everything has been seen up to.
async fn settle(reader: &mut ContractReader) -> Cursor {
    let cursor = reader.poll(None).await.unwrap().next().cloned().unwrap();
    let poll = reader.poll(Some(&cursor)).await.unwrap();
    assert_eq!(
        poll,
        Poll::Unchanged {
            next: cursor.clone()
        }
    );
    cursor
}

/// Settles, does this, and says what the reader that saw it and one that is new make of the cursor.
async fn after(archive: &Archive, family: &str, sql: &str) -> RebuildReason {
    let mut reader = archive.reader(family).await;
    let cursor = settle(&mut reader).await;
    archive.run(sql);
    let seen = reason(&mut reader, Some(&cursor)).await;
    let mut newcomer = archive.reader(family).await;
    assert_eq!(seen, reason(&mut newcomer, Some(&cursor)).await);
    seen
}

#[tokio::test]
async fn absent() {
    let archive = Archive::bare();
    let mut reader = archive.reader("rows").await;
    let poll = reader.poll(None).await.unwrap();
    let reason_of_none = Poll::Rebuild {
        reason: RebuildReason::Absent,
        next: None,
    };
    assert_eq!(poll, reason_of_none);

    // It comes, and goes while the reader has it open.
    archive
        .owner()
        .await
        .enable(&crate::archive::plan())
        .await
        .unwrap();
    let cursor = settle(&mut reader).await;
    archive.owner().await.disable().await.unwrap();
    assert_eq!(reader.poll(Some(&cursor)).await.unwrap(), reason_of_none);
}

#[tokio::test]
async fn absent_where_a_part_is_missing() {
    for table in ["state", "sequence", "tables", "families", "log"] {
        let archive = Archive::enabled().await;
        let sql = "SELECT type FROM sqlite_schema WHERE name = ?1";
        let name = format!("change_contract_{table}");
        // A table or a view.
        let kind: String = archive
            .connect()
            .query_row(sql, [&name], |row| row.get(0))
            .unwrap();
        let drop = format!("DROP {kind} {name}");
        assert_eq!(after(&archive, "rows", &drop).await, RebuildReason::Absent);
    }
    let archive = Archive::enabled().await;
    let empty = "DELETE FROM change_contract_state";
    assert_eq!(after(&archive, "rows", empty).await, RebuildReason::Absent);
}

#[tokio::test]
async fn unknown_version() {
    let archive = Archive::enabled().await;
    let later = "PRAGMA ignore_check_constraints = ON; UPDATE change_contract_state SET contract_version = 2";
    assert_eq!(
        after(&archive, "rows", later).await,
        RebuildReason::UnknownVersion(2)
    );
}

#[tokio::test]
async fn unarmed_names_the_table() {
    for (sql, table) in [
        ("DROP TRIGGER change_contract_plain_insert", "plain"),
        ("DROP TRIGGER \"change_contract_a b_update\"", "a b"),
        (
            "DROP TRIGGER change_contract_log_prune",
            "change_contract_log",
        ),
        // A trigger of the same name that does something else.
        (
            "DROP TRIGGER change_contract_heap_delete;
             CREATE TRIGGER change_contract_heap_delete AFTER DELETE ON heap BEGIN SELECT 1; END",
            "heap",
        ),
        // The table is there, and nothing of it is tracked.
        (
            "INSERT INTO change_contract_families(family, table_name) VALUES ('rows', 'other');
             CREATE TABLE passing(x)",
            "other",
        ),
    ] {
        let archive = Archive::enabled().await;
        assert_eq!(
            after(&archive, "rows", sql).await,
            RebuildReason::Unarmed(table.into())
        );
    }
}

#[tokio::test]
async fn unarmed_until_it_is_armed_again() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    archive.run("DROP TRIGGER change_contract_plain_insert");
    let unarmed = RebuildReason::Unarmed("plain".into());
    let mut cursor = None;
    for _ in 0..3 {
        let poll = reader.poll(cursor.as_ref()).await.unwrap();
        assert!(matches!(&poll, Poll::Rebuild { reason, .. } if *reason == unarmed));
        cursor = poll.next().cloned();
        archive.run("INSERT INTO plain(v) VALUES ('not journaled')");
    }
    archive
        .owner()
        .await
        .enable(&crate::archive::plan())
        .await
        .unwrap();
    assert_eq!(
        reason(&mut reader, cursor.as_ref()).await,
        RebuildReason::Generation
    );
    settle(&mut reader).await;

    // Of another family it is no business.
    archive.run("DROP TRIGGER change_contract_heap_insert");
    let mut counted = archive.reader("counted").await;
    settle(&mut counted).await;
}

#[tokio::test]
async fn no_cursor() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    assert_eq!(reason(&mut reader, None).await, RebuildReason::NoCursor);
}

#[tokio::test]
async fn epoch() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let cursor = settle(&mut reader).await;
    let owner = archive.owner().await;
    owner.disable().await.unwrap();
    owner.enable(&crate::archive::plan()).await.unwrap();
    assert_eq!(
        reason(&mut reader, Some(&cursor)).await,
        RebuildReason::Epoch
    );
}

#[tokio::test]
async fn generation() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let cursor = settle(&mut reader).await;
    archive
        .owner()
        .await
        .bump("rows were rewritten past the triggers")
        .await
        .unwrap();
    assert_eq!(
        reason(&mut reader, Some(&cursor)).await,
        RebuildReason::Generation
    );
    settle(&mut reader).await;
}

#[tokio::test]
async fn a_table_that_leaves_the_family_and_joins_it_again() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let cursor = settle(&mut reader).await;
    let without = crate::archive::PLAN.replacen(r#""heap", "#, "", 1);
    assert_ne!(without, crate::archive::PLAN);
    let owner = archive.owner().await;
    owner
        .enable(&ContractPlan::from_toml(&without).unwrap())
        .await
        .unwrap();
    archive.run("INSERT INTO heap(v) VALUES (1)");
    let poll = reader.poll(Some(&cursor)).await.unwrap();
    assert!(matches!(poll, Poll::Unchanged { .. }), "{poll:?}");

    // What happened to it meanwhile is not told row by row.
    let cursor = poll.next().cloned().unwrap();
    owner.enable(&crate::archive::plan()).await.unwrap();
    assert_eq!(
        reason(&mut reader, Some(&cursor)).await,
        RebuildReason::Generation
    );
}

#[tokio::test]
async fn schema_version() {
    for ddl in [
        "CREATE TABLE passing(x)",
        "VACUUM",
        "CREATE INDEX passing ON other(v)",
    ] {
        let archive = Archive::enabled().await;
        assert_eq!(
            after(&archive, "rows", ddl).await,
            RebuildReason::SchemaVersion,
            "{ddl}"
        );
    }
}

#[tokio::test]
async fn a_rebuilt_table_with_the_same_triggers() {
    let archive = Archive::enabled().await;
    let armed: Vec<String> = {
        let connection = archive.connect();
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'mixed'";
        let mut statement = connection.prepare(sql).unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    let rebuild = format!(
        "CREATE TABLE fresh(k NOT NULL PRIMARY KEY, v); INSERT INTO fresh VALUES (1, 'unseen');
         DROP TABLE mixed; ALTER TABLE fresh RENAME TO mixed; {}",
        armed.join("; "),
    );
    assert_eq!(
        after(&archive, "rows", &rebuild).await,
        RebuildReason::SchemaVersion
    );
}

#[tokio::test]
async fn pruned() {
    let archive = Archive::enabled().await;
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO heap(v) SELECT i FROM n";
    assert_eq!(after(&archive, "rows", many).await, RebuildReason::Pruned);
    // A family that was not written to has missed nothing.
    let mut counted = archive.reader("counted").await;
    let cursor = settle(&mut counted).await;
    archive.run(many);
    let poll = counted.poll(Some(&cursor)).await.unwrap();
    assert!(matches!(&poll, Poll::Unchanged { next } if next.seq == cursor.seq + 5000));
}

#[tokio::test]
async fn table_mode_names_the_table() {
    let archive = Archive::enabled().await;
    let count = "INSERT INTO plain(v) VALUES (1); INSERT INTO counts(v) VALUES (1)";
    let counts = RebuildReason::TableMode("counts".into());
    assert_eq!(after(&archive, "counted", count).await, counts);
    let mut reader = archive.reader("counted").await;
    settle(&mut reader).await;
}

/// Takes the place of the file with a copy of it, its log included.
fn swap(archive: &Path) {
    let copy = archive.with_extension("copy");
    connect(archive)
        .execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
        .unwrap();
    std::fs::rename(copy, archive).unwrap();
    for suffix in ["-wal", "-shm"] {
        let mut name = archive.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}

#[tokio::test]
async fn file_replaced() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let cursor = settle(&mut reader).await;
    swap(&archive.path);
    // The reader had the old file open.
    assert_eq!(
        reason(&mut reader, Some(&cursor)).await,
        RebuildReason::FileReplaced
    );
    let mut newcomer = archive.reader("rows").await;
    assert_eq!(
        reason(&mut newcomer, Some(&cursor)).await,
        RebuildReason::FileReplaced
    );

    // From here on it is the new file that is read.
    let cursor = settle(&mut reader).await;
    archive.run("INSERT INTO plain(id, v) VALUES (77, 'new')");
    let poll = reader.poll(Some(&cursor)).await.unwrap();
    assert!(
        matches!(&poll, Poll::Rows(changes) if changes.rows.len() == 1),
        "{poll:?}"
    );
}

#[tokio::test]
async fn a_link_that_leads_elsewhere() {
    let (one, two) = (Archive::enabled().await, Archive::enabled().await);
    let link = one.path.with_extension("link");
    std::os::unix::fs::symlink(&one.path, &link).unwrap();
    let mut reader = ContractReader::open(&link, "rows").await.unwrap();
    let cursor = settle(&mut reader).await;
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&two.path, &link).unwrap();
    assert_eq!(
        reason(&mut reader, Some(&cursor)).await,
        RebuildReason::FileReplaced
    );
}

#[tokio::test]
async fn sequence_behind_a_restored_content() {
    let archive = Archive::enabled().await;
    archive.run("PRAGMA wal_checkpoint(TRUNCATE)");
    let before = std::fs::read(&archive.path).unwrap();
    archive.run("INSERT INTO plain(v) VALUES (1), (2), (3); PRAGMA wal_checkpoint(TRUNCATE)");
    let mut reader = archive.reader("rows").await;
    let cursor = settle(&mut reader).await;
    drop(reader);
    // Into the same file: its identity is what it was.
    std::fs::write(&archive.path, before).unwrap();
    let mut reader = archive.reader("rows").await;
    assert_eq!(
        reason(&mut reader, Some(&cursor)).await,
        RebuildReason::SequenceBehind
    );
    settle(&mut reader).await;
}

#[tokio::test]
async fn an_unknown_family_is_an_error_that_names_those_there_are() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("row").await;
    let error = reader.poll(None).await.unwrap_err().to_string();
    assert!(
        error.contains(r#"no family "row""#) && error.contains("counted, rows"),
        "{error}"
    );
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let error = ContractReader::open("no/such/archive.db", "rows")
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no/such/archive.db does not exist"),
        "{error}"
    );
}
