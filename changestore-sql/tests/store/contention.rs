//! Locks that others hold.

use std::time::Duration;

use changestore_core::{ChangeStore, Condition, DocumentStore, ErrorKind, Outcome};
use changestore_sql::SqliteStore;
use futures::future::join_all;

use crate::{File, claim, created, key, record};

#[tokio::test]
async fn a_lock_that_is_held_too_long_is_told_as_unavailable() {
    let file = File::new();
    let options = file.options().with_lock_timeout(Duration::from_millis(100));
    let store = SqliteStore::open_with(options).await.unwrap();
    let other = file.direct();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writes = (0..8).map(|n| store.create(claim(&format!("r{n}"))));
    for error in join_all(writes).await {
        let error = error.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert!(error.is_retryable());
        assert_eq!(error.outcome(), Outcome::NotApplied);
        assert!(error.to_string().contains("lock timeout"), "{error}");
        assert!(
            error.to_string().contains(r#"("queue", "uri", "r"#),
            "{error}"
        );
    }
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), []);
    created(&store, "r0").await;
}

#[tokio::test]
async fn a_lock_that_is_held_for_a_while_is_waited_for() {
    let file = File::new();
    let store = file.store().await;
    let other = file.direct();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut write = std::pin::pin!(store.put(record("a", "1"), Condition::IfAbsent));
    let waited = tokio::time::timeout(Duration::from_millis(50), write.as_mut()).await;
    assert!(waited.is_err(), "the lock was held");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(write.await.unwrap().version.get(), 1);
}

#[tokio::test]
async fn reads_go_on_beside_a_long_write_transaction() {
    let file = File::new();
    let store = file.store().await;
    store
        .put(record("a", "before"), Condition::None)
        .await
        .unwrap();
    let other = file.direct();
    other
        .execute_batch("BEGIN IMMEDIATE; UPDATE changestore_documents SET data = x'00'")
        .unwrap();
    // Nothing here ends before the transaction does, so a read that waited would hang.
    for _ in 0..100 {
        assert_eq!(store.get(&key("a")).await.unwrap().data, "before");
    }
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(store.get(&key("a")).await.unwrap().data, "\0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_on_one_file_share_it_fairly_enough() {
    let file = File::new();
    let stores = [file.store().await, file.store().await];
    let tasks = (0..64).map(|task| {
        let store = stores[task % 2].clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                store.increment(&key("counter"), 1, None).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let total = stores[0].increment(&key("counter"), 0, None).await.unwrap();
    assert_eq!(total, 640);
}
