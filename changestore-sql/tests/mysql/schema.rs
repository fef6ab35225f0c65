//! The schema: applied by one of several, resumed, told in words.

use changestore_core::{ChangeStore as _, Condition, DocumentStore as _, ErrorKind};
use changestore_sql::{MySqlStore, schema};
use tokio::task::JoinSet;

use crate::server::{direct, open, prefix, run, shared, with_prefix};
use crate::{created, record};

/// Opening is refused with these words.
async fn refused(prefix: &str, words: &str) {
    let options = with_prefix(&shared().url(), prefix);
    let error = MySqlStore::open_with(options).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_schema_that_cannot_be_used_is_told_in_words() {
    let prefix = prefix();
    refused(&prefix, "no changestore tables").await;
    let options = with_prefix(&shared().url(), &prefix);
    MySqlStore::migrate_with(options.clone()).await.unwrap();
    MySqlStore::migrate_with(options.clone()).await.unwrap();
    for (change, words, back) in [
        (
            "INSERT INTO @migrations (version, description, success, checksum, execution_time) \
             VALUES (99, 'later', 1, x'00', 0)",
            "version 99 and this library knows",
            "DELETE FROM @migrations WHERE version = 99",
        ),
        (
            "UPDATE @migrations SET checksum = x'00'",
            "edited after it was applied",
            "",
        ),
        ("DELETE FROM @migrations", "no changestore tables", ""),
        ("DROP TABLE @migrations", "there is a table", ""),
    ] {
        run(shared(), &change.replace('@', &prefix)).await;
        refused(&prefix, words).await;
        if !back.is_empty() {
            run(shared(), &back.replace('@', &prefix)).await;
        }
    }
    let error = MySqlStore::migrate_with(options).await.unwrap_err();
    assert!(error.to_string().contains("there is a table"), "{error}");
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_table_that_is_gone_is_told_by_its_name() {
    let prefix = prefix();
    open(with_prefix(&shared().url(), &prefix)).await;
    run(shared(), &format!("DROP TABLE {prefix}documents")).await;
    refused(&prefix, &format!("the table {prefix}documents is gone")).await;
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn many_may_migrate_at_once() {
    let prefix = prefix();
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let options = with_prefix(&shared().url(), &prefix);
        tasks.spawn(async move {
            MySqlStore::migrate_with(options.clone()).await.unwrap();
            MySqlStore::open_with(options).await.unwrap()
        });
    }
    let stores = tasks.join_all().await;
    created(&stores[0], "r1").await;
    assert_eq!(
        stores[15].get_by_uri("queue", "uri").await.unwrap().len(),
        1
    );
}

/// Killed between the two tables, of which the server commits each by itself.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_migration_that_was_interrupted_goes_on() {
    let (through, interrupted) = (prefix(), prefix());
    open(with_prefix(&shared().url(), &through)).await;
    run(
        shared(),
        &format!(
            "CREATE TABLE {interrupted}migrations LIKE {through}migrations; \
             CREATE TABLE {interrupted}claims LIKE {through}claims"
        ),
    )
    .await;
    refused(&interrupted, "no changestore tables").await;
    let store = open(with_prefix(&shared().url(), &interrupted)).await;
    created(&store, "r1").await;
    store
        .put(record("sk", "data"), Condition::IfAbsent)
        .await
        .unwrap();
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn prefixes_share_nothing() {
    let (one, other) = (prefix(), prefix());
    let one = open(with_prefix(&shared().url(), &one)).await;
    let other = open(with_prefix(&shared().url(), &other)).await;
    created(&one, "r1").await;
    created(&other, "r1").await;
    one.put(record("sk", "data"), Condition::IfAbsent)
        .await
        .unwrap();
    other
        .put(record("sk", "data"), Condition::IfAbsent)
        .await
        .unwrap();
}

/// With a tool that knows nothing of this library.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn the_printed_schema_can_be_applied_under_any_mode() {
    run(shared(), "CREATE DATABASE printed").await;
    let mut connection = direct(shared()).await;
    let modes = "SET SESSION sql_mode = 'ANSI_QUOTES,ORACLE,EMPTY_STRING_IS_NULL,\
                 NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'; USE printed";
    crate::server::execute(&mut connection, modes).await;
    for migration in schema::mysql() {
        crate::server::execute(&mut connection, migration.sql).await;
        crate::server::execute(&mut connection, migration.sql).await;
    }
}
