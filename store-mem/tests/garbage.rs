//! Expired records and counters are collected on the way of writes, and on demand.

use std::time::Duration;

use changestore_core::limits::GARBAGE_GRACE;
use changestore_core::{
    Clock, Condition, DocumentStore, DocumentStoreExt, Key, ManualClock, NewRecord, QueryOptions,
    Timestamp,
};
use store_mem::MemStore;

fn key(pk: &str, sk: usize) -> Key {
    Key::new(pk, format!("{sk:05}")).unwrap()
}

async fn fill(store: &MemStore, pk: &str, count: usize, expire_at: Timestamp) {
    for sk in 0..count {
        let record = NewRecord::new(key(pk, sk), "x")
            .unwrap()
            .with_expire_at(expire_at);
        store.put(record, Condition::None).await.unwrap();
    }
}

#[tokio::test]
async fn collecting_removes_what_has_expired_and_nothing_else() {
    let clock = ManualClock::new(Timestamp::EPOCH);
    let store = MemStore::with_clock(clock.clone());
    let soon = clock.now().saturating_add(Duration::from_secs(1));
    let late = clock.now().saturating_add(GARBAGE_GRACE * 2);
    fill(&store, "soon", 1_000, soon).await;
    fill(&store, "late", 10, late).await;
    store
        .increment(&key("soon", 5_000), 1, Some(soon))
        .await
        .unwrap();
    assert_eq!(store.collect_expired(), 0);

    clock.set(soon);
    assert_eq!(
        store.collect_expired(),
        0,
        "a clock that lags may still want it"
    );
    clock.advance(GARBAGE_GRACE);
    assert_eq!(store.collect_expired(), 1_001);
    assert_eq!(store.collect_expired(), 0);
    let late = store
        .query_all("late", "", QueryOptions::default())
        .await
        .unwrap();
    assert_eq!(late.len(), 10);
}

#[tokio::test]
async fn writes_collect_more_garbage_than_they_make() {
    let clock = ManualClock::new(Timestamp::EPOCH);
    let store = MemStore::with_clock(clock.clone());
    fill(&store, "old", 1_000, Timestamp::from_millis(1).unwrap()).await;
    clock.advance(GARBAGE_GRACE + Duration::from_millis(1));
    for sk in 0..250 {
        store.increment(&key("other", sk), 1, None).await.unwrap();
    }
    assert_eq!(
        store.collect_expired(),
        0,
        "the writes should have left nothing"
    );
}

#[tokio::test]
async fn a_renewed_record_is_not_collected_by_its_old_expiry() {
    let clock = ManualClock::new(Timestamp::EPOCH);
    let store = MemStore::with_clock(clock.clone());
    fill(&store, "p", 1, Timestamp::from_millis(1).unwrap()).await;
    let renewed = Timestamp::EPOCH.saturating_add(GARBAGE_GRACE * 2);
    fill(&store, "p", 1, renewed).await;
    clock.advance(GARBAGE_GRACE + Duration::from_millis(1));
    assert_eq!(store.collect_expired(), 0);
    assert_eq!(store.get(&key("p", 0)).await.unwrap().version.get(), 2);

    // Deleted, and written again without an expiry: nothing is left to collect either.
    store.delete(&key("p", 0), Condition::None).await.unwrap();
    store
        .put(
            NewRecord::new(key("p", 0), "y").unwrap(),
            Condition::IfAbsent,
        )
        .await
        .unwrap();
    clock.set(Timestamp::MAX);
    assert_eq!(store.collect_expired(), 0);
    assert_eq!(store.get(&key("p", 0)).await.unwrap().data, "y");
}

/// Partitions come and go while others write into them: a record must not be put into one that was
/// just dropped for being empty.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_record_is_lost_while_its_partition_comes_and_goes() {
    let store = MemStore::new();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..2_000 {
                    let record = NewRecord::new(key("p", task), "x").unwrap();
                    store.put(record, Condition::IfAbsent).await.unwrap();
                    store
                        .delete(&key("p", task), Condition::None)
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
