//! Tables that cannot be tracked: the reason is told, and nothing is installed.

use changestore_core::ErrorKind;
use changestore_sql::contract::{ContractOwner, ContractPlan, Mode, SchemaGuard};

use crate::archive::Archive;

const SCHEMA: &str = "
    CREATE TABLE good(k INTEGER PRIMARY KEY);
    CREATE TABLE nullable(k INT PRIMARY KEY, v);
    CREATE TABLE nullable_pair(a NOT NULL, b, PRIMARY KEY(a, b));
    CREATE TABLE nullable_desc(k INTEGER PRIMARY KEY DESC);
    CREATE TABLE hidden(rowid, oid, _rowid_);
    CREATE VIEW view_one AS SELECT * FROM good;
    CREATE VIRTUAL TABLE words USING fts5(text);";

#[tokio::test]
async fn a_refusal_names_the_table_and_the_reason_and_leaves_nothing() {
    let archive = Archive::bare(SCHEMA).await;
    for (table, mode, reason) in [
        ("nullable", Mode::Rows, "can be NULL in the column \"k\""),
        (
            "nullable_pair",
            Mode::Rows,
            "can be NULL in the column \"b\"",
        ),
        ("nullable_desc", Mode::Rows, "can be NULL"),
        ("hidden", Mode::Rows, "no primary key"),
        ("view_one", Mode::Rows, "view"),
        ("view_one", Mode::Table, "view"),
        ("words", Mode::Rows, "virtual table"),
        ("words", Mode::Table, "virtual table"),
        ("words_content", Mode::Rows, "virtual table"),
        ("missing", Mode::Rows, "does not exist"),
        ("missing", Mode::Table, "does not exist"),
        ("sqlite_schema", Mode::Rows, "SQLite"),
    ] {
        let plan = ContractPlan::new()
            .with_table("good", Mode::Rows)
            .with_table(table, mode);
        let error = archive.owner.enable(&plan).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains(table) && text.contains(reason),
            "{table}: {text}"
        );
        assert_eq!(archive.objects(), [], "{table}");
    }
    let error = archive
        .owner
        .enable(&ContractPlan::new())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("nothing to track"), "{error}");
}

/// What rows mode cannot do, table mode can.
#[tokio::test]
async fn table_mode_takes_tables_without_a_key() {
    let archive = Archive::bare(SCHEMA).await;
    let tables = ["nullable", "nullable_pair", "hidden", "words_content"];
    let plan = tables.iter().fold(ContractPlan::new(), |plan, table| {
        plan.with_table(*table, Mode::Table)
    });
    archive.owner.enable(&plan).await.unwrap();
    archive.run(
        "INSERT INTO nullable VALUES (NULL, 1), (NULL, 2); INSERT INTO hidden VALUES (1, 2, 3);
         INSERT INTO words VALUES ('some words');",
    );
    assert!(archive.seq() >= 4);
    assert_eq!(archive.log(), []);
}

#[tokio::test]
async fn a_refusal_leaves_a_contract_as_it_was() {
    let archive = Archive::tracking(SCHEMA, &["good"]).await;
    archive.run("INSERT INTO good VALUES (1)");
    let before = archive.owner.status().await.unwrap();
    let plan = ContractPlan::new()
        .with_table("nullable", Mode::Rows)
        .with_retention(5000);
    archive.owner.enable(&plan).await.unwrap_err();
    assert_eq!(archive.owner.status().await.unwrap(), before);
}

#[tokio::test]
async fn another_schema_is_refused() {
    let archive =
        Archive::bare("CREATE TABLE t(k INTEGER PRIMARY KEY); PRAGMA user_version = 7").await;
    let open = |guard| ContractOwner::open(&archive.path, guard);
    let error = open(SchemaGuard::UserVersion(8)).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("is 7, not 8"), "{error}");
    let error = open(SchemaGuard::OurMigrations).await.unwrap_err();
    assert!(
        error.to_string().contains("no changestore tables"),
        "{error}"
    );
    let owner = open(SchemaGuard::UserVersion(7)).await.unwrap();
    owner.enable(&crate::archive::plan(&["t"])).await.unwrap();
    // It is looked at again, under the lock.
    archive.run("PRAGMA user_version = 9");
    owner.bump("rewritten").await.unwrap_err();
    owner.disable().await.unwrap_err();
    owner
        .export(archive.path.with_extension("copy"))
        .await
        .unwrap_err();
    assert_eq!(
        archive.number("SELECT generation FROM change_contract_state"),
        1
    );
}

#[tokio::test]
async fn a_file_that_is_missing_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.db");
    let error = ContractOwner::open(&path, SchemaGuard::Unchecked)
        .await
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert!(!path.exists());
}

#[tokio::test]
async fn our_own_archive_is_known_by_its_migrations() {
    use changestore_sql::SqliteStore;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    SqliteStore::open(path.to_str().unwrap())
        .await
        .unwrap()
        .close()
        .await;
    let owner = ContractOwner::open(&path, SchemaGuard::OurMigrations)
        .await
        .unwrap();
    assert_eq!(owner.status().await.unwrap().tables, []);
}
