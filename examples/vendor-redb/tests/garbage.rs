//! What has expired takes space until it is collected, and not a moment longer.

use std::time::Duration;

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt, Key, ManualClock, NewRecord, QueryOptions,
    Timestamp,
};
use redb::Database;
use redb::backends::InMemoryBackend;
use vendor_redb::RedbStore;

#[tokio::test]
async fn exactly_what_has_expired_is_collected() {
    let clock = ManualClock::new(Timestamp::EPOCH);
    let database = Database::builder().create_with_backend(InMemoryBackend::new());
    let store = RedbStore::from_database(database.unwrap()).await.unwrap();
    let store = store.with_clock(clock.clone());
    let key = |sk: &str| Key::new("p", sk).unwrap();
    let at = |millis| Timestamp::from_millis(millis).unwrap();

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
