//! Stores on the user's own pool.

use std::borrow::Cow;

use changestore_core::{ChangeStore, Condition, DocumentStore, ErrorKind};
use changestore_sql::SqliteStore;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{SqlSafeStr as _, SqlitePool};

use crate::{File, claim, created, key, record};

async fn pool(file: &File, connections: u32) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(&file.path)
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new().max_connections(connections);
    pool.connect_with(options).await.unwrap()
}

async fn refused(pool: SqlitePool, words: &str) {
    let error = SqliteStore::from_pool(pool).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
async fn a_pool_without_the_schema_is_refused_until_it_is_migrated() {
    let file = File::new();
    let pool = pool(&file, 2).await;
    refused(pool.clone(), "no changestore tables").await;
    let tables: i64 = file
        .direct()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 0, "nothing was migrated silently");
    SqliteStore::migrate(&pool).await.unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::from_pool(pool).await.unwrap();
    created(&store, "r1").await;
    assert_eq!(
        store.get_by_uri("queue", "uri").await.unwrap(),
        [claim("r1")]
    );
}

#[tokio::test]
async fn the_users_own_migrations_live_beside_ours() {
    let file = File::new();
    let pool = pool(&file, 2).await;
    let users = Migrator::with_migrations(vec![Migration::new(
        1,
        Cow::Borrowed("users table"),
        MigrationType::Simple,
        "CREATE TABLE users (name TEXT)".into_sql_str(),
        false,
    )]);
    users.run(&pool).await.unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    users.run(&pool).await.unwrap();
    let store = SqliteStore::from_pool(pool.clone()).await.unwrap();
    created(&store, "r1").await;
    sqlx::query("INSERT INTO users VALUES ('somebody')")
        .execute(&pool)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_pool_of_one_connection_is_enough() {
    let file = File::new();
    let pool = pool(&file, 1).await;
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::from_pool(pool.clone()).await.unwrap();
    let _users = pool.acquire().await.unwrap();
    created(&store, "r1").await;
}

#[tokio::test]
async fn a_closed_store_leaves_its_pool_open() {
    let file = File::new();
    let pool = pool(&file, 2).await;
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::from_pool(pool.clone()).await.unwrap();
    store.close().await;
    let error = store.get(&key("a")).await.unwrap_err();
    assert_eq!(error.message(), Some("the store is closed"));
    sqlx::query("SELECT 1").execute(&pool).await.unwrap();
}

#[tokio::test]
async fn without_wal_readers_and_writers_wait_for_each_other_and_none_fails() {
    let file = File::new();
    let pool = pool(&file, 4).await;
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::from_pool(pool).await.unwrap();
    let tasks = (0..16).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            for step in 0..8 {
                let sk = format!("{task}/{step}");
                store.put(record(&sk, "1"), Condition::None).await.unwrap();
                store.get(&key(&sk)).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_database_in_memory_is_refused() {
    let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    refused(pool, "store-mem").await;
}
