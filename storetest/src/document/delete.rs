//! `delete` × every condition × (a live record, nothing, an expired one).

use changestore_core::{Condition, DocumentStore, QueryOptions};

use super::records::{
    PK, advance, in_millis, is_absent, is_stored, key, nobodys_etag, put, record, sort_keys,
    version,
};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn a_deleted_record_is_gone(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for sk in ["a", "b", "c"] {
        put(store, record(sk, "")).await;
    }
    let key = key(PK, "b");
    store.delete(&key, Condition::None).await.unwrap();
    is_absent(store, &key).await;
    let left = sort_keys(store, "", QueryOptions::default()).await;
    assert_eq!(left, ["a", "c"]);
    expect::not_found(store.delete(&key, Condition::None).await);
}

pub(super) async fn under_a_condition_that_holds(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for number in 0..3 {
        put(store, record("sk", "first")).await;
        let second = put(store, record("sk", "second")).await;
        let condition = match number {
            0 => Condition::None,
            1 => Condition::IfVersion(version(2)),
            _ => Condition::IfEtag(second.etag),
        };
        store.delete(&second.key, condition).await.unwrap();
        is_absent(store, &second.key).await;
    }
}

pub(super) async fn a_stale_version_or_etag_fails_and_deletes_nothing(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let first = put(store, record("sk", "first")).await;
    let expire_at = in_millis(fixture, 1_000);
    let second = put(store, record("sk", "second").with_expire_at(expire_at)).await;
    for condition in [
        Condition::IfVersion(version(1)),
        Condition::IfVersion(version(3)),
        Condition::IfVersion(version(i64::MAX.unsigned_abs())),
        Condition::IfEtag(first.etag),
        Condition::IfEtag(nobodys_etag()),
    ] {
        expect::condition_failed(store.delete(&second.key, condition).await);
        is_stored(store, &second).await;
    }
}

pub(super) async fn what_is_missing_is_not_found_whatever_the_condition(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let never = key(PK, "never");
    let deleted = put(store, record("deleted", "")).await;
    store.delete(&deleted.key, Condition::None).await.unwrap();
    let soon = in_millis(fixture, 10);
    let expired = put(store, record("expired", "").with_expire_at(soon)).await;
    advance(fixture, 10);
    for key in [&never, &deleted.key, &expired.key] {
        for condition in [
            Condition::None,
            Condition::IfVersion(version(1)),
            Condition::IfVersion(version(2)),
            Condition::IfEtag(deleted.etag.clone()),
            Condition::IfEtag(expired.etag.clone()),
            Condition::IfEtag(nobodys_etag()),
        ] {
            expect::not_found(store.delete(key, condition).await);
        }
    }
}

pub(super) async fn if_absent_is_an_invalid_argument(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let stored = put(store, record("stored", "")).await;
    let counter = key(PK, "counter");
    store.increment(&counter, 1, None).await.unwrap();
    for key in [&stored.key, &counter, &key(PK, "missing")] {
        for condition in [Condition::IfAbsent, Condition::IfVersion(version(0))] {
            expect::invalid(store.delete(key, condition).await, "condition");
        }
    }
    is_stored(store, &stored).await;
}

pub(super) async fn only_the_record_of_that_key_goes(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut neighbours = Vec::new();
    for sk in ["s", "sk", "sk ", "sk/", "sk0", "SK", "%", "_"] {
        neighbours.push(put(store, record(sk, "")).await);
    }
    let gone = neighbours.remove(1);
    store.delete(&gone.key, Condition::None).await.unwrap();
    for neighbour in &neighbours {
        is_stored(store, neighbour).await;
    }
}
