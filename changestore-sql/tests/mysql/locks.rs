//! Locks that other transactions hold.

use std::time::Duration;

use changestore_core::{ChangeStore as _, Condition, DocumentStore as _, ErrorKind, Outcome};
use sqlx::Connection as _;
use tokio::task::JoinSet;

use crate::server::{direct, execute, open, prefix, shared, with_prefix};
use crate::{claim, key, record};

/// Longer than the server waits for a lock in one statement.
const LONG: Duration = Duration::from_secs(5);

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_lock_is_waited_for_as_long_as_the_operation_may_take() {
    let prefix = prefix();
    let store = open(with_prefix(&shared().url(), &prefix)).await;
    store
        .put(record("sk", "data"), Condition::IfAbsent)
        .await
        .unwrap();
    let mut other = direct(shared()).await;
    let lock = format!("BEGIN; SELECT * FROM {prefix}documents FOR UPDATE");
    execute(&mut other, &lock).await;
    let waiting = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .put(record("sk", "later"), Condition::IfVersion(1.into()))
                .await
        }
    });
    tokio::time::sleep(LONG).await;
    assert!(!waiting.is_finished());
    // Reads wait for nobody.
    assert_eq!(store.get(&key("sk")).await.unwrap().version.get(), 1);
    other.close().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().version.get(), 2);
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_lock_that_is_held_for_too_long_is_unavailable() {
    let prefix = prefix();
    let options = with_prefix(&shared().url(), &prefix).with_operation_timeout(LONG);
    let store = open(options).await;
    store
        .put(record("sk", "data"), Condition::IfAbsent)
        .await
        .unwrap();
    let mut other = direct(shared()).await;
    let lock = format!("BEGIN; SELECT * FROM {prefix}documents FOR UPDATE");
    execute(&mut other, &lock).await;
    let error = store.delete(&key("sk"), Condition::None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.is_retryable());
    other.close().await.unwrap();
    // The last attempt was on its way when the time was over: it may still happen.
    assert_eq!(error.outcome(), Outcome::Unknown);
}

/// Transactions of others that take locks in every order, and ours between them.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn no_deadlock_reaches_a_caller() {
    let prefix = prefix();
    let store = open(with_prefix(&shared().url(), &prefix)).await;
    for place in 0..8 {
        store
            .put(record(&place.to_string(), "data"), Condition::IfAbsent)
            .await
            .unwrap();
        assert!(store.create(claim(&place.to_string())).await.is_ok());
    }
    let mut others = JoinSet::new();
    for other in 0..8_usize {
        let prefix = prefix.clone();
        others.spawn(async move {
            let mut connection = direct(shared()).await;
            let mut deadlocks = 0;
            for round in 0..60 {
                let mut transaction = connection.begin().await.unwrap();
                for step in 0..4 {
                    let place = (other * 3 + round * 5 + step * (other + 1)) % 8;
                    let sql = format!(
                        "UPDATE {prefix}documents SET expire_at = NULL \
                             WHERE pk = 'partition' AND sk = '{place}'; \
                         UPDATE {prefix}claims SET version = 1 \
                             WHERE queue = 'queue' AND uri = 'uri' AND request_id = '{place}'"
                    );
                    let sql = sqlx::AssertSqlSafe(sql);
                    if sqlx::raw_sql(sql).execute(&mut *transaction).await.is_err() {
                        deadlocks += 1;
                        break;
                    }
                }
                // After a deadlock there is nothing left to commit.
                let _ = transaction.commit().await;
            }
            deadlocks
        });
    }
    let mut ours = JoinSet::new();
    for task in 0..16_usize {
        let store = store.clone();
        ours.spawn(async move {
            for step in 0..40 {
                let place = ((task + step) % 8).to_string();
                store
                    .put(record(&place, "data"), Condition::None)
                    .await
                    .unwrap();
                store.create(claim(&place)).await.map(drop).unwrap();
                store
                    .create(claim(&format!("{task}/{step}")))
                    .await
                    .map(drop)
                    .unwrap();
                store.increment(&key("counter"), 1, None).await.unwrap();
            }
        });
    }
    ours.join_all().await;
    let deadlocks: usize = others.join_all().await.into_iter().sum();
    assert!(deadlocks > 0, "there was something to survive");
    assert_eq!(
        store.increment(&key("counter"), 0, None).await.unwrap(),
        640
    );
    let claims = store.get_by_uri("queue", "uri").await.unwrap();
    assert_eq!(claims.len(), 8 + 640);
}
