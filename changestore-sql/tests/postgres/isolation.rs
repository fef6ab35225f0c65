//! Whatever isolation, locks and timeouts the sessions come with, the answers are exact.

use std::collections::BTreeSet;
use std::sync::Arc;

use changestore_core::{
    ChangeStore as _, Condition, CreateOutcome, DocumentStore as _, ErrorKind, Version,
};
use changestore_sql::{PostgresOptions, PostgresStore};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::task::JoinSet;

use super::server::{Schema, claim, connect, key, record, run, url};

const TASKS: usize = 64;

/// A store on a pool whose sessions have this setting.
async fn store_with(schema: &Schema, setting: (&str, &str)) -> PostgresStore {
    let connect: PgConnectOptions = url().parse().unwrap();
    let pool = PgPoolOptions::new()
        .max_connections(8)
        .connect_with(connect.options([setting]))
        .await
        .unwrap();
    let options = PostgresOptions::from_pool(pool)
        .with_schema(&schema.0)
        .unwrap();
    PostgresStore::open_with(options).await.unwrap()
}

pub(crate) async fn every_level_of_the_pools_sessions_is_exact() {
    for level in ["read committed", "repeatable read", "serializable"] {
        let schema = Schema::new().await;
        let store = Arc::new(store_with(&schema, ("default_transaction_isolation", level)).await);
        increments(&store).await;
        creates(&store).await;
        compare_and_set(&store).await;
        deletes(&store).await;
        schema.drop().await;
    }
}

async fn increments(store: &Arc<PostgresStore>) {
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let store = Arc::clone(store);
        tasks.spawn(async move { store.increment(&key("n"), 1, None).await.unwrap() });
    }
    let values: BTreeSet<i64> = tasks.join_all().await.into_iter().collect();
    assert_eq!(values, (1..=64).collect());
}

async fn creates(store: &Arc<PostgresStore>) {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            let mut created = 0;
            for step in 0..8 {
                let outcome = store.create(claim(&format!("{}", (task + step) % 8))).await;
                created += usize::from(outcome.unwrap() == CreateOutcome::Created);
            }
            created
        });
    }
    let created: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(created, 8);
}

/// Of those who want the same version exactly one wins, and no version is left out.
async fn compare_and_set(store: &Arc<PostgresStore>) {
    store.put(record("r"), Condition::IfAbsent).await.unwrap();
    for version in 1..=4 {
        let mut tasks = JoinSet::new();
        for _ in 0..16 {
            let store = Arc::clone(store);
            tasks.spawn(async move {
                let condition = Condition::IfVersion(Version::from(version));
                match store.put(record("r"), condition).await {
                    Ok(record) => {
                        assert_eq!(record.version, Version::from(version + 1));
                        1
                    }
                    Err(error) => {
                        assert!(error.is_condition_failed(), "{error:?}");
                        0
                    }
                }
            });
        }
        let won: usize = tasks.join_all().await.into_iter().sum();
        assert_eq!(won, 1);
    }
}

/// Of those who delete and create the same record each is told one of the possible truths.
async fn deletes(store: &Arc<PostgresStore>) {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            if task % 2 == 0 {
                match store.delete(&key("d"), Condition::None).await {
                    Ok(()) => -1,
                    Err(error) => {
                        assert_eq!(*error.kind(), ErrorKind::NotFound);
                        0
                    }
                }
            } else {
                match store.put(record("d"), Condition::IfAbsent).await {
                    Ok(_) => 1,
                    Err(error) => {
                        assert!(error.is_condition_failed(), "{error:?}");
                        0
                    }
                }
            }
        });
    }
    let there: i32 = tasks.join_all().await.into_iter().sum();
    let is_there = store.get(&key("d")).await.is_ok();
    assert_eq!(there, i32::from(is_there));
}

/// The owner of the database changes a row by hand and takes his time.
pub(crate) async fn a_transaction_of_the_owners_is_waited_for() {
    let schema = Schema::new().await;
    let store = schema.store().await;
    store.put(record("r"), Condition::None).await.unwrap();
    let mut owner = connect().await;
    let mut transaction = owner.begin().await.unwrap();
    run(
        &mut transaction,
        format!("UPDATE {}.changestore_documents SET version = 7", schema.0),
    )
    .await;
    let waiting = tokio::spawn({
        let store = store.clone();
        async move {
            let condition = Condition::IfVersion(Version::FIRST);
            store.put(record("r"), condition).await
        }
    });
    let mut watcher = connect().await;
    let is_waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    let like = format!("%{}%", schema.0);
    loop {
        let waiting: i64 = sqlx::query_scalar(is_waiting)
            .bind(&like)
            .fetch_one(&mut watcher)
            .await
            .unwrap();
        if waiting > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    transaction.commit().await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(error.is_condition_failed(), "{error:?}");
    assert_eq!(
        store.get(&key("r")).await.unwrap().version,
        Version::from(7)
    );
    schema.drop().await;
}

/// Statements that the server breaks off after a millisecond of waiting are sent again.
pub(crate) async fn a_lock_timeout_of_the_roles_reaches_nobody() {
    let schema = Schema::new().await;
    let store = Arc::new(store_with(&schema, ("lock_timeout", "1ms")).await);
    increments(&store).await;
    creates(&store).await;
    schema.drop().await;
}
