//! Opening: which files are taken, and in which words the others are refused.

use std::time::Duration;

use changestore_core::{
    ChangeStore, Condition, CreateOutcome, DocumentStore, Error, ErrorKind, Operation, Outcome,
};
use changestore_sql::{SqliteOptions, SqliteStore};
use futures::FutureExt as _;

use crate::{File, claim, created, key, record};

/// Every refusal names the file.
async fn refused(options: SqliteOptions, kind: &ErrorKind, words: &str) -> Error {
    let file = options.path().to_owned();
    let error = SqliteStore::open_with(options).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error:?}");
    assert_eq!(error.operation(), Some(Operation::Open));
    assert_eq!(error.backend(), Some("sqlite"));
    assert!(error.to_string().contains(words), "{error}");
    let file = file.to_str().unwrap();
    assert!(error.to_string().contains(file), "{error} without {file}");
    error
}

#[tokio::test]
async fn a_new_file_is_created_with_the_settings_of_the_readme() {
    let file = File::new();
    let store = file.store().await;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    let direct = file.direct();
    let pragma = |name: &str| -> String {
        let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        direct.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(pragma("journal_mode"), "wal");
    assert_eq!(pragma("page_size"), "8192");
    assert_eq!(pragma("encoding"), "UTF-8");
    let (strict, without_rowid): (i64, i64) = direct
        .query_row(
            "SELECT sum(strict), sum(wr) FROM pragma_table_list WHERE name IN \
             ('changestore_claims', 'changestore_documents')",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((strict, without_rowid), (2, 2));
    let indexes: i64 = direct
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name IN \
             ('changestore_claims', 'changestore_documents') AND name NOT LIKE 'sqlite_autoindex%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(indexes, 0);
}

#[tokio::test]
async fn a_closed_store_opens_again_with_everything() {
    let file = File::new();
    let store = file.store().await;
    created(&store, "r1").await;
    store.close().await;
    let wal = std::fs::metadata(format!("{}-wal", file.path));
    assert!(wal.is_err(), "the last one to close folds the WAL in");
    let error = store.create(claim("r2")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    let error = store.get(&key("a")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    let again = file.store().await;
    assert_eq!(
        again.get_by_uri("queue", "uri").await.unwrap(),
        [claim("r1")]
    );
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let file = File::new();
    let folder = file.folder.path().to_str().unwrap().to_owned();
    let options = |path: String| SqliteOptions::new(&path).unwrap();
    let kind = ErrorKind::Configuration;
    refused(options(folder.clone()), &kind, "is a folder").await;
    refused(
        options(format!("{folder}/none/x.db")),
        &kind,
        "does not exist",
    )
    .await;
    let missing = file.options().with_create_if_missing(false);
    refused(missing, &kind, "does not exist").await;
    #[cfg(unix)]
    refused(options("/dev/null".into()), &kind, "no ordinary file").await;
    let below = format!("{}/below.db", std::env::current_exe().unwrap().display());
    refused(options(below), &kind, "cannot be reached").await;
    let missing = format!("sqlite:{}?mode=ro", file.path);
    refused(options(missing), &kind, "does not exist").await;
    assert!(!std::fs::exists(&file.path).unwrap());
}

#[tokio::test]
async fn a_file_of_something_else_is_corrupt() {
    let file = File::new();
    std::fs::write(
        &file.path,
        "not a database, but long enough to be read as a header of one, which \
        has a hundred bytes",
    )
    .unwrap();
    refused(
        file.options(),
        &ErrorKind::Corrupt,
        "not an SQLite database",
    )
    .await;
}

#[tokio::test]
async fn an_encoding_without_the_order_of_the_contract_is_refused() {
    let file = File::new();
    file.direct()
        .execute_batch("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (x)")
        .unwrap();
    refused(file.options(), &ErrorKind::Configuration, "UTF-16le").await;
}

#[tokio::test]
async fn a_read_only_store_reads_and_refuses_to_write() {
    let file = File::new();
    let store = file.store().await;
    created(&store, "r1").await;
    let reader = SqliteStore::open_with(file.options().with_read_only(true))
        .await
        .unwrap();
    assert_eq!(reader.get_by_uri("queue", "uri").await.unwrap().len(), 1);
    let error = reader.create(claim("r2")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(error.operation(), Some(Operation::Create));
    // And sees what others write meanwhile.
    created(&store, "r3").await;
    assert_eq!(reader.get_by_uri("queue", "uri").await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_newer_or_altered_schema_is_refused_and_left_alone() {
    let file = File::new();
    file.store().await.close().await;
    let direct = file.direct();
    direct
        .execute_batch(
            "INSERT INTO changestore_migrations SELECT 1000, 'from the future', installed_on, \
             success, checksum, execution_time FROM changestore_migrations",
        )
        .unwrap();
    refused(file.options(), &ErrorKind::Configuration, "version 1000").await;
    direct
        .execute_batch(
            "DELETE FROM changestore_migrations WHERE version = 1000; \
             UPDATE changestore_migrations SET checksum = x'00'",
        )
        .unwrap();
    refused(file.options(), &ErrorKind::Configuration, "edited").await;
    let checksums: i64 = direct
        .query_row(
            "SELECT count(*) FROM changestore_migrations WHERE checksum = x'00'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(checksums, 1);
}

#[tokio::test]
async fn a_lock_that_is_held_too_long_names_the_file() {
    let file = File::new();
    let other = file.direct();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let options = file.options().with_lock_timeout(Duration::ZERO);
    refused(options, &ErrorKind::Unavailable, "holds the lock").await;
}

#[tokio::test]
async fn tables_that_are_gone_or_of_somebody_else_are_named() {
    let kind = ErrorKind::Configuration;
    for table in ["changestore_claims", "changestore_documents"] {
        let file = File::new();
        file.store().await.close().await;
        let direct = file.direct();
        direct
            .execute_batch(&format!("DROP TABLE {table}"))
            .unwrap();
        let gone = format!("the table {table} is gone");
        refused(file.options(), &kind, &gone).await;
        refused(file.options().with_read_only(true), &kind, &gone).await;
        let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", file.path)).await;
        let pool = pool.unwrap();
        let error = SqliteStore::migrate(&pool).await.unwrap_err();
        assert_eq!(error.operation(), Some(Operation::Migrate));
        assert!(error.to_string().contains(&gone), "{error}");
        let error = SqliteStore::from_pool(pool).await.unwrap_err();
        assert!(error.to_string().contains(&gone), "{error}");
        assert!(error.to_string().contains(&file.path), "{error}");

        let file = File::new();
        file.direct()
            .execute_batch(&format!("CREATE TABLE {table} (x)"))
            .unwrap();
        refused(file.options(), &kind, &format!("there is a table {table}")).await;
    }
}

#[test]
fn without_a_runtime_nothing_panics() {
    let file = File::new();
    let opened = SqliteStore::open(&file.path).now_or_never();
    let error = opened.unwrap().unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("tokio runtime"), "{error}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pool = runtime.block_on(async {
        file.store().await.close().await;
        let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", file.path)).await;
        pool.unwrap()
    });
    let error = SqliteStore::migrate(&pool)
        .now_or_never()
        .unwrap()
        .unwrap_err();
    assert!(error.to_string().contains("tokio runtime"), "{error}");
    let error = SqliteStore::from_pool(pool)
        .now_or_never()
        .unwrap()
        .unwrap_err();
    assert!(error.to_string().contains("tokio runtime"), "{error}");
}

#[tokio::test]
async fn no_option_is_too_large_or_too_small() {
    let file = File::new();
    for readers in [0, 1, usize::MAX] {
        for lock_timeout in [Duration::ZERO, Duration::MAX] {
            let options = file.options().with_readers(readers);
            let store = SqliteStore::open_with(options.with_lock_timeout(lock_timeout))
                .await
                .unwrap();
            store.put(record("a", "1"), Condition::None).await.unwrap();
            store.get(&key("a")).await.unwrap();
            store.close().await;
        }
    }
}

#[tokio::test]
async fn many_open_a_new_file_at_once() {
    let file = File::new();
    let opens = (0..16).map(|_| SqliteStore::open(&file.path));
    let mut outcomes = Vec::new();
    for store in futures::future::join_all(opens).await {
        outcomes.push(store.unwrap().create(claim("same")).await.unwrap());
    }
    assert_eq!(outcomes[0], CreateOutcome::Created);
    assert!(
        outcomes[1..]
            .iter()
            .all(|outcome| *outcome == CreateOutcome::AlreadyThere)
    );
}

#[test]
fn a_store_outlives_its_runtime_without_hanging() {
    let file = File::new();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let store = first.block_on(file.store());
    first.block_on(created(&store, "r1"));
    drop(first);
    let error = runtime().block_on(store.create(claim("r2"))).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("runtime"), "{error}");
}

#[tokio::test]
async fn debug_prints_the_file_and_nothing_stored() {
    let file = File::new();
    let store = file.store().await;
    let printed = format!("{store:?}");
    assert!(printed.contains("changestore.db"), "{printed}");
}
