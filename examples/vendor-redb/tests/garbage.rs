//! What has expired takes space until it is collected, and not a moment longer.

use std::time::Duration;

use changestore_core::limits::GARBAGE_GRACE;
use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt, Key, ManualClock, NewRecord, QueryOptions,
    Timestamp,
};
use redb::Database;
use redb::backends::InMemoryBackend;
use vendor_redb::RedbStore;

async fn open(clock: &ManualClock) -> RedbStore {
    let database = Database::builder().create_with_backend(InMemoryBackend::new());
    let store = RedbStore::from_database(database.unwrap()).await.unwrap();
    store.with_clock(clock.clone())
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

#[tokio::test]
async fn exactly_what_has_expired_is_collected() {
    let clock = ManualClock::new(Timestamp::EPOCH);
    let store = open(&clock).await;
    let key = |sk: &str| Key::new("p", sk).unwrap();

    for (sk, expire_at) in [("a", Some(at(1))), ("b", Some(at(2))), ("c", None)] {
        let record = NewRecord::new(key(sk), "data")
            .unwrap()
            .with_expire_at(expire_at);
        store.put(record, Condition::IfAbsent).await.unwrap();
        store
            .increment(&key(&format!("{sk} counter")), 7, expire_at)
            .await
            .unwrap();
    }
    assert_eq!(store.collect_expired().await.unwrap(), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(store.collect_expired().await.unwrap(), 0);
    clock.advance(GARBAGE_GRACE);
    assert_eq!(store.collect_expired().await.unwrap(), 2);
    assert_eq!(store.collect_expired().await.unwrap(), 0);

    // Gone for good: they do not come back when the clock is set back.
    clock.set(Timestamp::EPOCH);
    let left = store
        .query_all("p", "", QueryOptions::default())
        .await
        .unwrap();
    let left: Vec<_> = left.iter().map(|record| record.key.sk()).collect();
    assert_eq!(left, ["b", "c"]);
    assert_eq!(
        store.increment(&key("a counter"), 0, None).await.unwrap(),
        0
    );
    assert_eq!(
        store.increment(&key("b counter"), 0, None).await.unwrap(),
        7
    );
}

#[tokio::test]
async fn the_second_kind_replaces_what_expired() {
    let clock = ManualClock::new(at(1));
    let store = open(&clock).await;
    let (first, second) = (Key::new("p", "1").unwrap(), Key::new("p", "2").unwrap());
    let record = |key: &Key| NewRecord::new(key.clone(), "data").unwrap();

    // Both have expired already.
    store.increment(&first, 7, Some(at(1))).await.unwrap();
    let expired = record(&second).with_expire_at(at(1));
    store.put(expired, Condition::None).await.unwrap();
    store.put(record(&first), Condition::None).await.unwrap();
    store.increment(&second, 7, None).await.unwrap();

    // They would be alive again, beside the other kind, if they had been left.
    clock.set(Timestamp::EPOCH);
    assert_eq!(store.get(&first).await.unwrap().data, "data");
    store.put(record(&first), Condition::None).await.unwrap();
    assert!(store.find(&second).await.unwrap().is_none());
    assert_eq!(store.increment(&second, 0, None).await.unwrap(), 7);
}
