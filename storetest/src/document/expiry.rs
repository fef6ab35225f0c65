//! Expired is absent, at once, for every operation, by the store's clock.

use changestore_core::{
    Clock, Condition, DocumentStore, DocumentStoreExt, QueryOptions, Timestamp,
};

use super::records::{
    PK, advance, in_millis, is_absent, is_stored, key, nobodys_etag, put, record, sort_keys,
    version,
};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn get_sees_a_record_up_to_its_last_millisecond(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let expire_at = in_millis(fixture, 1_000);
    let written = put(store, record("sk", "").with_expire_at(expire_at)).await;
    for step in [0, 1, 998] {
        advance(fixture, step);
        is_stored(store, &written).await;
    }
    assert_eq!(in_millis(fixture, 1), expire_at);
    advance(fixture, 1);
    is_absent(store, &written.key).await;
    advance(fixture, 1);
    is_absent(store, &written.key).await;
    advance(fixture, 1_000_000);
    is_absent(store, &written.key).await;
}

pub(super) async fn query_sees_a_record_up_to_its_last_millisecond(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    put(store, record("ever", "")).await;
    for millis in [1, 2, 3] {
        let soon = in_millis(fixture, millis);
        let sk = format!("{millis} ms");
        put(store, record(&sk, "").with_expire_at(soon)).await;
    }
    let expected: [&[&str]; 4] = [
        &["1 ms", "2 ms", "3 ms", "ever"],
        &["2 ms", "3 ms", "ever"],
        &["3 ms", "ever"],
        &["ever"],
    ];
    for live in expected {
        for descending in [false, true] {
            let options = QueryOptions::default().with_descending(descending);
            let mut found = sort_keys(store, "", options).await;
            if descending {
                found.reverse();
            }
            assert_eq!(found, live);
        }
        advance(fixture, 1);
    }
}

pub(super) async fn put_finds_nothing_where_a_record_expired(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let soon = || in_millis(fixture, 100);
    put(store, record("sk", "")).await;
    let old = put(store, record("sk", "old").with_expire_at(soon())).await;
    advance(fixture, 99);
    let absent = store.put(record("sk", ""), Condition::IfAbsent).await;
    expect::condition_failed(absent);
    advance(fixture, 1);
    let same_version = Condition::IfVersion(old.version);
    expect::condition_failed(store.put(record("sk", ""), same_version).await);
    let same_etag = Condition::IfEtag(old.etag);
    expect::condition_failed(store.put(record("sk", ""), same_etag).await);
    let new = store.put(record("sk", "new"), Condition::IfAbsent).await;
    assert_eq!(new.unwrap().version, version(1));
}

pub(super) async fn after_expiry_versions_start_again(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for _ in 0..3 {
        let soon = in_millis(fixture, 100);
        for number in 1..=3 {
            let written = put(store, record("sk", "").with_expire_at(soon)).await;
            assert_eq!(written.version, version(number));
        }
        advance(fixture, 100);
    }
}

pub(super) async fn delete_does_not_find_what_expired(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 100);
    let a = put(store, record("a", "").with_expire_at(soon)).await;
    let b = put(store, record("b", "").with_expire_at(soon)).await;
    advance(fixture, 99);
    store.delete(&a.key, Condition::None).await.unwrap();
    advance(fixture, 1);
    expect::not_found(store.delete(&b.key, Condition::None).await);
    expect::not_found(store.delete(&b.key, Condition::IfEtag(b.etag)).await);
    let wrong = Condition::IfEtag(nobodys_etag());
    expect::not_found(store.delete(&b.key, wrong).await);
}

pub(super) async fn increment_counts_a_counter_up_to_its_last_millisecond(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    let soon = in_millis(fixture, 100);
    store.increment(&key, 40, Some(soon)).await.unwrap();
    advance(fixture, 99);
    assert_eq!(store.increment(&key, 2, None).await.unwrap(), 42);
    advance(fixture, 1);
    assert_eq!(store.increment(&key, 2, None).await.unwrap(), 2);
}

pub(super) async fn the_latest_time_is_far_away(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let counter = key(PK, "counter");
    let written = put(store, record("sk", "").with_expire_at(Timestamp::MAX)).await;
    assert_eq!(written.expire_at, Some(Timestamp::MAX));
    let started = store.increment(&counter, 1, Some(Timestamp::MAX)).await;
    assert_eq!(started.unwrap(), 1);
    is_stored(store, &written).await;
    let last = Timestamp::from_millis(Timestamp::MAX.as_millis() - 1).unwrap();
    fixture.clock.set(last);
    is_stored(store, &written).await;
    assert_eq!(store.increment(&counter, 1, None).await.unwrap(), 2);
    // Even the latest time comes.
    advance(fixture, 1);
    assert_eq!(fixture.clock.now(), Timestamp::MAX);
    is_absent(store, &written.key).await;
    assert_eq!(store.increment(&counter, 1, None).await.unwrap(), 1);
}

pub(super) async fn without_expiry_a_record_stays(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let counter = key(PK, "counter");
    let written = put(store, record("sk", "")).await;
    store.increment(&counter, 1, None).await.unwrap();
    fixture.clock.set(Timestamp::MAX);
    is_stored(store, &written).await;
    assert_eq!(store.increment(&counter, 1, None).await.unwrap(), 2);
}

pub(super) async fn only_the_stores_clock_counts(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    // By any server's clock this is long over, or the year is not here yet.
    for now in [1_000, Timestamp::MAX.as_millis() - 1_000] {
        fixture.clock.set(Timestamp::from_millis(now).unwrap());
        let expire_at = in_millis(fixture, 500);
        let written = put(store, record("sk", "").with_expire_at(expire_at)).await;
        advance(fixture, 499);
        is_stored(store, &written).await;
        let found = store.query_all(PK, "sk", QueryOptions::default()).await;
        assert_eq!(found.unwrap(), std::slice::from_ref(&written));
        advance(fixture, 1);
        is_absent(store, &written.key).await;
    }
}

pub(super) async fn others_do_not_expire_with_it(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 10);
    let later = in_millis(fixture, 20);
    let mut lasting = Vec::new();
    for number in 0..50 {
        let sk = format!("{number:02}");
        let expire_at = if number % 2 == 0 { soon } else { later };
        let written = put(store, record(&sk, &sk).with_expire_at(expire_at)).await;
        if expire_at == later {
            lasting.push(written);
        }
    }
    advance(fixture, 10);
    // Writes, so that a store which collects garbage on the way does so.
    for number in 0..50 {
        put(store, record(&format!("new {number}"), "")).await;
    }
    for record in &lasting {
        is_stored(store, record).await;
    }
    let found = store.query_all(PK, "", QueryOptions::default().with_limit(25));
    assert_eq!(found.await.unwrap(), lasting);
}

/// Garbage is collected no sooner than a day later, so that no backend's collector decides what a clock
/// that lags can see.
pub(super) async fn a_clock_set_back_shows_what_it_had_hidden(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let start = fixture.clock.now();
    let expire_at = in_millis(fixture, 1_000);
    let kept = put(store, record("kept", "").with_expire_at(expire_at)).await;
    let replaced = put(store, record("replaced", "").with_expire_at(expire_at)).await;
    let counter = key(PK, "counter");
    store.increment(&counter, 7, Some(expire_at)).await.unwrap();

    fixture.clock.set(expire_at);
    is_absent(store, &kept.key).await;
    let new = put(store, record("replaced", "")).await;
    // Writes are when adapters collect.
    for number in 0..300 {
        put(store, record(&format!("other {number}"), "")).await;
    }

    fixture.clock.set(start);
    is_stored(store, &kept).await;
    is_stored(store, &new).await;
    assert_ne!(new.etag, replaced.etag);
    assert_eq!(store.increment(&counter, 1, None).await.unwrap(), 8);
    let renewal = record("kept", "").with_expire_at(in_millis(fixture, 2_000));
    let renewed = store
        .put(renewal, Condition::IfEtag(kept.etag))
        .await
        .unwrap();
    assert_eq!(renewed.version, version(2));
}
