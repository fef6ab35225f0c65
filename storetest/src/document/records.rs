//! Records and counters as the cases write and read them.

use std::time::Duration;

use changestore_core::{
    Clock, Condition, DocumentStore, DocumentStoreExt, Etag, Key, NewRecord, QueryOptions, Record,
    Timestamp, Version,
};

use crate::expect;
use crate::harness::Fixture;

/// The partition of the cases that need only one.
pub(super) const PK: &str = "partition";

pub(super) fn key(pk: &str, sk: &str) -> Key {
    Key::new(pk, sk).unwrap()
}

/// A record of the partition [`PK`] that does not expire.
pub(super) fn record(sk: &str, data: impl AsRef<[u8]>) -> NewRecord {
    record_at(key(PK, sk), data)
}

pub(super) fn record_at(key: Key, data: impl AsRef<[u8]>) -> NewRecord {
    NewRecord::new(key, data.as_ref().to_vec()).unwrap()
}

pub(super) fn version(number: u64) -> Version {
    Version::new(number).unwrap()
}

/// An etag that no write has.
pub(super) fn nobodys_etag() -> Etag {
    Etag::unique()
}

/// Puts whatever is there.
pub(super) async fn put(store: &dyn DocumentStore, record: NewRecord) -> Record {
    store.put(record, Condition::None).await.unwrap()
}

/// The store holds exactly this record at its key.
pub(super) async fn is_stored(store: &dyn DocumentStore, record: &Record) {
    assert_eq!(store.get(&record.key).await.unwrap(), *record);
}

/// The store holds no record at the key.
pub(super) async fn is_absent(store: &dyn DocumentStore, key: &Key) {
    expect::not_found(store.get(key).await);
}

/// The sort keys of a query of the partition [`PK`].
pub(super) async fn sort_keys(
    store: &dyn DocumentStore,
    sk_prefix: &str,
    options: QueryOptions,
) -> Vec<String> {
    let records = store.query_all(PK, sk_prefix, options).await.unwrap();
    let keys = records.into_iter().map(|record| record.key.into_parts());
    keys.map(|(pk, sk)| {
        assert_eq!(pk, PK);
        sk
    })
    .collect()
}

/// The time so many milliseconds from now, by the store's clock.
pub(super) fn in_millis(fixture: &Fixture<dyn DocumentStore>, millis: u64) -> Timestamp {
    let now = fixture.clock.now();
    now.saturating_add(Duration::from_millis(millis))
}

/// Steps the store's clock.
pub(super) fn advance(fixture: &Fixture<dyn DocumentStore>, millis: u64) {
    fixture.clock.advance(Duration::from_millis(millis));
}
