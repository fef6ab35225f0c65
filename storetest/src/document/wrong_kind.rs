//! A counter and a record never share a key: the second kind is refused, and nothing changes.

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt, NewRecord, QueryOptions, RecordKind,
};

use super::records::{
    PK, advance, in_millis, is_absent, is_stored, key, nobodys_etag, put, record, version,
};
use crate::expect;
use crate::harness::Fixture;

fn conditions() -> [Condition; 5] {
    [
        Condition::None,
        Condition::IfAbsent,
        Condition::IfVersion(version(0)),
        Condition::IfVersion(version(1)),
        Condition::IfEtag(nobodys_etag()),
    ]
}

pub(super) async fn a_put_at_a_counter_is_refused_whatever_the_condition(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    let expire_at = in_millis(fixture, 100);
    store.increment(&key, 7, Some(expire_at)).await.unwrap();
    for condition in conditions() {
        let refused = store.put(record("counter", "data"), condition).await;
        expect::wrong_kind(refused, RecordKind::Counter);
    }
    // Its value and its expiry are what they were.
    advance(fixture, 99);
    assert_eq!(store.increment(&key, 0, None).await.unwrap(), 7);
    advance(fixture, 1);
    assert_eq!(store.increment(&key, 0, None).await.unwrap(), 0);
}

pub(super) async fn an_increment_at_a_record_is_refused(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let expire_at = in_millis(fixture, 100);
    // Data that could be taken for a number are none.
    for data in ["", "7", "\0\0\0\0\0\0\0\x07"] {
        let new = record("sk", data).with_expire_at(expire_at);
        let written = put(store, new).await;
        for delta in [0, 1, -1, i64::MAX, i64::MIN] {
            for given in [None, Some(in_millis(fixture, 10_000))] {
                let refused = store.increment(&written.key, delta, given).await;
                expect::wrong_kind(refused, RecordKind::Record);
                is_stored(store, &written).await;
            }
        }
    }
}

pub(super) async fn get_does_not_see_counters(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    for delta in [0, 1] {
        store.increment(&key, delta, None).await.unwrap();
        is_absent(store, &key).await;
    }
}

pub(super) async fn query_does_not_see_counters(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut records = Vec::new();
    for number in 0..30 {
        let sk = format!("{number:02}");
        if number % 3 == 0 {
            records.push(put(store, record(&sk, &sk)).await);
        } else {
            store.increment(&key(PK, &sk), 1, None).await.unwrap();
        }
    }
    let all = QueryOptions::default();
    assert_eq!(store.query_all(PK, "", all.clone()).await.unwrap(), records);
    // Nor do they count towards a limit.
    let three = store.query_all(PK, "", all.clone().with_limit(3)).await;
    assert_eq!(three.unwrap(), records[..3]);
    // And where there is nothing else, there is nothing.
    let nothing = store.query_all(PK, "01", all.clone()).await;
    assert_eq!(nothing.unwrap(), []);
    // What has expired is nothing all the more.
    let soon = in_millis(fixture, 10);
    store
        .increment(&key(PK, "01"), 1, Some(soon))
        .await
        .unwrap();
    advance(fixture, 10);
    assert_eq!(store.query_all(PK, "", all).await.unwrap(), records);
}

pub(super) async fn delete_does_not_see_counters(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    store.increment(&key, 7, None).await.unwrap();
    for condition in [
        Condition::None,
        Condition::IfVersion(version(1)),
        Condition::IfVersion(version(7)),
        Condition::IfEtag(nobodys_etag()),
    ] {
        expect::not_found(store.delete(&key, condition).await);
    }
    assert_eq!(store.increment(&key, 0, None).await.unwrap(), 7);
}

pub(super) async fn an_expired_counter_makes_way_for_a_record(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 100);
    let key = key(PK, "sk");
    store.increment(&key, 7, Some(soon)).await.unwrap();
    advance(fixture, 99);
    let refused = store.put(record("sk", ""), Condition::None).await;
    expect::wrong_kind(refused, RecordKind::Counter);
    advance(fixture, 1);
    for stale in [
        Condition::IfVersion(version(1)),
        Condition::IfEtag(nobodys_etag()),
    ] {
        expect::condition_failed(store.put(record("sk", ""), stale).await);
    }
    let written = store.put(record("sk", "data"), Condition::IfAbsent).await;
    let written = written.unwrap();
    assert_eq!(written.version, version(1));
    is_stored(store, &written).await;
}

pub(super) async fn an_expired_record_makes_way_for_a_counter(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 100);
    let old: NewRecord = record("sk", "data").with_expire_at(soon);
    let old = put(store, old).await;
    advance(fixture, 99);
    let refused = store.increment(&old.key, 1, None).await;
    expect::wrong_kind(refused, RecordKind::Record);
    advance(fixture, 1);
    assert_eq!(store.increment(&old.key, 3, None).await.unwrap(), 3);
    is_absent(store, &old.key).await;
    // The record's expiry did not pass on to the counter.
    advance(fixture, 1_000_000);
    assert_eq!(store.increment(&old.key, 3, None).await.unwrap(), 6);
}

pub(super) async fn a_deleted_record_makes_way_for_a_counter(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let old = put(store, record("sk", "data")).await;
    store.delete(&old.key, Condition::None).await.unwrap();
    assert_eq!(store.increment(&old.key, 3, None).await.unwrap(), 3);
    let refused = store.put(record("sk", "data"), Condition::IfAbsent).await;
    expect::wrong_kind(refused, RecordKind::Counter);
}
