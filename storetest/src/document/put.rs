//! `put`: the whole record is replaced, and returned as it is stored.

use std::collections::HashSet;

use changestore_core::{Condition, DocumentStore, Timestamp};

use super::records::{PK, advance, in_millis, is_absent, is_stored, key, put, record, version};
use crate::harness::Fixture;

pub(super) async fn it_returns_the_record_as_stored(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let expire_at = in_millis(fixture, 5_000);
    let new = record("sk", "data").with_expire_at(expire_at);
    let written = put(store, new).await;
    assert_eq!(written.key, key(PK, "sk"));
    assert_eq!(written.data, "data");
    assert_eq!(written.version, version(1));
    assert_eq!(written.expire_at, Some(expire_at));
    is_stored(store, &written).await;
}

pub(super) async fn versions_count_from_one_without_gaps(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut last = None;
    for number in 1..=20 {
        // Each condition that holds, in turn: they count alike.
        let condition = match (number % 3, last.take()) {
            (0, Some(_)) => Condition::IfVersion(version(number - 1)),
            (1, Some(etag)) => Condition::IfEtag(etag),
            _ => Condition::None,
        };
        let written = store.put(record("sk", "same"), condition).await.unwrap();
        assert_eq!(written.version, version(number));
        last = Some(written.etag);
    }
    // A failed put in between takes no number.
    let failed = store.put(record("sk", ""), Condition::IfAbsent).await;
    assert!(failed.unwrap_err().is_condition_failed());
    assert_eq!(put(store, record("sk", "")).await.version, version(21));
    // Another key counts for itself.
    assert_eq!(put(store, record("other", "")).await.version, version(1));
}

pub(super) async fn after_a_delete_versions_start_again(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "sk");
    for _ in 0..3 {
        assert_eq!(put(store, record("sk", "")).await.version, version(1));
        assert_eq!(put(store, record("sk", "")).await.version, version(2));
        store.delete(&key, Condition::None).await.unwrap();
    }
}

pub(super) async fn no_two_writes_have_the_same_etag(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut etags = HashSet::new();
    let mut writes = 0;
    for round in 0..40_u64 {
        for sk in ["a", "b"] {
            for _ in 0..2 {
                // Always the same data: the etag is the write's and not the content's.
                let soon = in_millis(fixture, 10);
                let new = record(sk, "same").with_expire_at(soon);
                etags.insert(put(store, new).await.etag);
                writes += 1;
            }
        }
        // The records begin again at version 1: after a delete, and after they have expired.
        if round % 2 == 0 {
            store.delete(&key(PK, "a"), Condition::None).await.unwrap();
            store.delete(&key(PK, "b"), Condition::None).await.unwrap();
        } else {
            advance(fixture, 10);
        }
    }
    assert_eq!(etags.len(), writes);
}

pub(super) async fn data_are_replaced_whole(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for data in [
        "a long text",
        "short",
        "",
        "long again, and longer than before",
    ] {
        let written = put(store, record("sk", data)).await;
        assert_eq!(written.data, data);
        is_stored(store, &written).await;
    }
}

pub(super) async fn expiry_is_replaced_too(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let times = [
        Some(in_millis(fixture, 1_000)),
        None,
        Some(in_millis(fixture, 500)),
        Some(in_millis(fixture, 2_000)),
        None,
    ];
    for expire_at in times {
        let written = put(store, record("sk", "").with_expire_at(expire_at)).await;
        assert_eq!(written.expire_at, expire_at);
        is_stored(store, &written).await;
    }
    // The last one said that it does not expire.
    advance(fixture, 10_000);
    assert_eq!(store.get(&key(PK, "sk")).await.unwrap().version, version(5));
}

pub(super) async fn an_earlier_expiry_holds(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let later = in_millis(fixture, 10_000);
    put(store, record("sk", "").with_expire_at(later)).await;
    let earlier = in_millis(fixture, 10);
    put(store, record("sk", "").with_expire_at(earlier)).await;
    advance(fixture, 10);
    is_absent(store, &key(PK, "sk")).await;
}

pub(super) async fn what_has_expired_already_is_absent_at_once(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    for expire_at in [in_millis(fixture, 0), Timestamp::EPOCH] {
        let alive = put(store, record("sk", "alive")).await;
        assert_eq!(alive.version, version(1));
        let dead = record("sk", "dead").with_expire_at(expire_at);
        let written = store
            .put(dead, Condition::IfEtag(alive.etag))
            .await
            .unwrap();
        // It was written, as the next version, and it has replaced the living one.
        assert_eq!(written.version, version(2));
        assert_eq!(written.expire_at, Some(expire_at));
        is_absent(store, &written.key).await;
    }
}
