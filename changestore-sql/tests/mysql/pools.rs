//! Stores on the user's own pool.

use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Condition, DocumentStore as _, DocumentStoreExt as _, ErrorKind,
};
use changestore_sql::MySqlStore;
use engines::mariadb;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};

use crate::server::{direct, run};
use crate::{claim, created, key, record};

async fn pool(url: &str, connections: u32) -> MySqlPool {
    let options: MySqlConnectOptions = url.parse().unwrap();
    // What a user might have set; the store needs none of it.
    let options = options
        .charset("latin1")
        .timezone(Some("+05:30".to_owned()));
    MySqlPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(20))
        .after_connect(|connection, _| {
            Box::pin(async move {
                crate::server::execute(
                    connection,
                    "SET SESSION sql_mode = 'ANSI_QUOTES', SESSION autocommit = 0",
                )
                .await;
                Ok(())
            })
        })
        .connect_with(options)
        .await
        .unwrap()
}

async fn mode(pool: &MySqlPool) -> String {
    let mode = sqlx::query_scalar("SELECT CONCAT(@@sql_mode, ' ', @@autocommit, ' ', @@time_zone)");
    mode.fetch_one(pool).await.unwrap()
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_store_needs_no_setting_of_a_pool_and_leaves_none_behind() {
    let server = mariadb::start().unwrap();
    let pool = pool(&server.url(), 1).await;
    let error = MySqlStore::from_pool(pool.clone()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(
        error.to_string().contains("no changestore tables"),
        "{error}"
    );
    MySqlStore::migrate(&pool).await.unwrap();
    MySqlStore::migrate(&pool).await.unwrap();
    let before = mode(&pool).await;
    assert!(before.contains("ANSI_QUOTES"), "{before}");
    let store = MySqlStore::from_pool(pool.clone()).await.unwrap();
    created(&store, "r1 \u{1f600}").await;
    let claims = store.get_by_uri("queue", "uri").await.unwrap();
    assert_eq!(claims[0].key.request_id(), "r1 \u{1f600}");
    // The only connection comes back to the pool's users, as one of theirs.
    assert_eq!(mode(&pool).await, before);
    created(&store, "r2").await;
    store.close().await;
    assert_eq!(mode(&pool).await, before);
    let mut connection = direct(&server).await;
    let claims: i64 = sqlx::query_scalar("SELECT count(*) FROM changestore_claims")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(claims, 2, "what was acknowledged was committed");
}

/// A `begin` that was dropped midway leaves a connection of sqlx's pool in a transaction.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_transaction_that_somebody_left_open_swallows_nothing() {
    let server = mariadb::start().unwrap();
    let pool = pool(&server.url(), 1).await;
    MySqlStore::migrate(&pool).await.unwrap();
    let mut poisoned = pool.acquire().await.unwrap();
    crate::server::execute(&mut poisoned, "START TRANSACTION").await;
    drop(poisoned);
    let store = MySqlStore::from_pool(pool).await.unwrap();
    store
        .put(record("sk", "data"), Condition::None)
        .await
        .unwrap();
    // A connection of its own sees what is committed.
    let options = changestore_sql::MySqlOptions::new(&server.url()).unwrap();
    let other = MySqlStore::open_with(options).await.unwrap();
    assert!(other.find(&key("sk")).await.unwrap().is_some());
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_pool_without_a_database_is_refused() {
    let server = mariadb::start().unwrap();
    let url = server.url();
    let (url, _) = url.rsplit_once('/').unwrap();
    let pool = MySqlPool::connect(url).await.unwrap();
    let error = MySqlStore::from_pool(pool).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("in no database"), "{error}");
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_closed_pool_is_unavailable() {
    let server = mariadb::start().unwrap();
    let pool = pool(&server.url(), 2).await;
    MySqlStore::migrate(&pool).await.unwrap();
    let store = MySqlStore::from_pool(pool.clone()).await.unwrap();
    store.close().await;
    let error = store.create(claim("r1")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
    run(&server, "DO 1").await;
    assert!(pool.acquire().await.is_ok(), "the user's pool stays open");
}
