//! Servers whose defaults change what statements mean, or whether they are run at all.

use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Condition, DocumentStore as _, DocumentStoreExt as _, ErrorKind, Outcome,
    QueryOptions,
};
use changestore_sql::MySqlStore;
use engines::mariadb::{self, HOSTILE};
use futures::future::join_all;
use sqlx::Connection as _;
use sqlx::mysql::MySqlConnection;
use tokio::task::JoinSet;

use crate::server::{direct, execute, open, options, prefix, run, with_prefix};
use crate::{claim, created, key, record};

/// A bit of everything, and races on one record and one counter.
async fn works(store: &MySqlStore) {
    for request in 0..10 {
        created(store, &format!("r{request} ")).await;
    }
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 10);
    store
        .put(record("\\'\"%", ""), Condition::IfAbsent)
        .await
        .unwrap();
    let odd = store.get(&key("\\'\"%")).await.unwrap();
    assert!(odd.data.is_empty());
    let stale = Condition::IfVersion(7.into());
    let refused = store.put(record("\\'\"%", "x"), stale).await.unwrap_err();
    assert!(refused.is_condition_failed());
    store
        .delete(&key("\\'\"%"), Condition::IfEtag(odd.etag))
        .await
        .unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let store = store.clone();
        tasks.spawn(async move {
            for _ in 0..10 {
                store.increment(&key("counter"), -1, None).await.unwrap();
                let next = |_: Option<&_>| Ok(Some(record("record", "data")));
                store.update(&key("record"), next).await.unwrap();
                store
                    .put(record("any", "data"), Condition::None)
                    .await
                    .unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(
        store.increment(&key("counter"), 0, None).await.unwrap(),
        -160
    );
    assert_eq!(store.get(&key("record")).await.unwrap().version.get(), 160);
    assert_eq!(store.get(&key("any")).await.unwrap().version.get(), 160);
    let all = store
        .query_all("partition", "", QueryOptions::default())
        .await
        .unwrap();
    assert_eq!(all.len(), 2);
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn whatever_the_server_sets_every_session_is_the_same() {
    let server = mariadb::start_with(HOSTILE).unwrap();
    works(&open(options(&server)).await).await;
    for setting in [
        "sql_mode = 'SIMULTANEOUS_ASSIGNMENT,ORACLE,IGNORE_BAD_TABLE_OPTIONS'",
        "sql_mode = ''",
        "tx_isolation = 'READ-UNCOMMITTED'",
        "tx_isolation = 'READ-COMMITTED'",
        "tx_isolation = 'REPEATABLE-READ'",
        "tx_isolation = 'SERIALIZABLE'",
        "tx_read_only = 1",
        "completion_type = 'RELEASE'",
        "sql_select_limit = 3",
        "max_join_size = 1",
        "character_set_server = latin1, collation_server = latin1_general_cs",
        "wait_timeout = 1, interactive_timeout = 1",
    ] {
        let globals: Vec<String> = setting
            .split(", ")
            .map(|setting| format!("SET GLOBAL {setting}"))
            .collect();
        run(&server, &globals.join("; ")).await;
        works(&open(options(&server)).await).await;
    }
}

/// What does not fit is refused, and not cut to fit.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn nothing_is_cut_to_fit_a_column() {
    let server = mariadb::start_with(&[("sql_mode", "")]).unwrap();
    let prefix = prefix();
    let store = open(with_prefix(&server.url(), &prefix)).await;
    let alter = format!("ALTER TABLE {prefix}claims MODIFY request_id VARBINARY(2) NOT NULL");
    run(&server, &alter).await;
    let error = store.create(claim("r10")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(store.get_by_uri("queue", "uri").await.unwrap().is_empty());
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_log_of_statements_is_told_in_words() {
    let binlog = [("log_bin", "binlog"), ("binlog_format", "MIXED")];
    let server = mariadb::start_with(&binlog).unwrap();
    works(&open(options(&server)).await).await;
    let options = options(&server);
    MySqlStore::migrate_with(options.clone()).await.unwrap();
    run(&server, "SET GLOBAL binlog_format = 'STATEMENT'").await;
    let store = MySqlStore::open_with(options).await.unwrap();
    let error = store.create(claim("r1")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(
        error.to_string().contains("binlog_format ROW or MIXED"),
        "{error}"
    );
    assert_eq!(error.outcome(), Outcome::NotApplied);
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_replica_is_told_in_words_and_left_as_soon_as_it_is_none() {
    let server = mariadb::start().unwrap();
    let create = "CREATE USER plain@'%' IDENTIFIED BY 'plain'; \
                  GRANT ALL ON changestore.* TO plain@'%'";
    run(&server, create).await;
    let url = format!(
        "mysql://plain:plain@127.0.0.1:{}/changestore",
        server.port()
    );
    let store = open(with_prefix(&url, &prefix())).await;
    created(&store, "r1").await;
    run(&server, "SET GLOBAL read_only = 1").await;
    let error = store.create(claim("r2")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert!(error.to_string().contains("is it a replica?"), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 1);
    run(&server, "SET GLOBAL read_only = 0").await;
    created(&store, "r2").await;
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_server_without_a_connection_to_spare_is_waited_for() {
    let server = mariadb::start_with(&[("max_connections", "10")]).unwrap();
    let options = options(&server).with_connect_timeout(Duration::from_millis(300));
    let store = open(options).await;
    let mut others = Vec::new();
    // The server keeps one for an administrator, and the store has one.
    while let Ok(mut other) = MySqlConnection::connect(&server.url()).await {
        execute(&mut other, "DO 1").await;
        others.push(other);
        assert!(others.len() < 20);
    }
    created(&store, "r1").await;
    let many = (0..30).map(|request| {
        let store = store.clone();
        async move { store.create(claim(&format!("many{request}"))).await }
    });
    let outcomes = join_all(many).await;
    for outcome in &outcomes {
        if let Err(error) = outcome {
            assert_eq!(*error.kind(), ErrorKind::Throttled, "{error:?}");
            assert!(error.is_retryable());
            assert_eq!(error.outcome(), Outcome::NotApplied);
        }
    }
    drop(others);
    direct(&server).await;
    created(&store, "r2").await;
}
