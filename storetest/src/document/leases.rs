//! Leases: an etag is a fencing token that no other holder's record can match.

use std::sync::Arc;

use changestore_core::{Condition, DocumentStore, NewRecord, Record};

use super::records::{advance, in_millis, is_absent, is_stored, record, version};
use crate::expect;
use crate::harness::Fixture;
use crate::race::race;

const TTL: u64 = 30_000;

fn lease(fixture: &Fixture<dyn DocumentStore>, holder: &str) -> NewRecord {
    record("lease", holder).with_expire_at(in_millis(fixture, TTL))
}

async fn acquire(fixture: &Fixture<dyn DocumentStore>, holder: &str) -> Record {
    let lease = lease(fixture, holder);
    fixture.store.put(lease, Condition::IfAbsent).await.unwrap()
}

pub(super) async fn while_it_is_held_nobody_else_gets_it(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let held = acquire(fixture, "a").await;
    advance(fixture, TTL - 1);
    let rival = store.put(lease(fixture, "b"), Condition::IfAbsent).await;
    expect::condition_failed(rival);
    is_stored(store, &held).await;
}

pub(super) async fn its_holder_renews_and_releases_it(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut held = acquire(fixture, "a").await;
    for _ in 0..3 {
        advance(fixture, TTL - 1);
        let renewed = lease(fixture, "a");
        held = store
            .put(renewed, Condition::IfEtag(held.etag))
            .await
            .unwrap();
    }
    let released = store.delete(&held.key, Condition::IfEtag(held.etag)).await;
    released.unwrap();
    acquire(fixture, "b").await;
}

pub(super) async fn the_old_etag_fails_after_it_was_deleted_and_made_again(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let old = acquire(fixture, "a").await;
    store.delete(&old.key, Condition::None).await.unwrap();
    let new = acquire(fixture, "a").await;
    // Same key, same version, same data, same expiry: only the write is another.
    assert_eq!(new.version, old.version);
    assert_eq!(new.expire_at, old.expire_at);
    let renewed = store.put(lease(fixture, "a"), Condition::IfEtag(old.etag.clone()));
    expect::condition_failed(renewed.await);
    let released = store.delete(&old.key, Condition::IfEtag(old.etag));
    expect::condition_failed(released.await);
    is_stored(store, &new).await;
}

pub(super) async fn the_old_etag_fails_after_it_expired_and_was_made_again(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let old = acquire(fixture, "a").await;
    advance(fixture, TTL);
    let new = acquire(fixture, "b").await;
    assert_eq!(new.version, old.version);
    let renewed = store.put(lease(fixture, "a"), Condition::IfEtag(old.etag.clone()));
    expect::condition_failed(renewed.await);
    let released = store.delete(&old.key, Condition::IfEtag(old.etag));
    expect::condition_failed(released.await);
    is_stored(store, &new).await;
    // Where the version was all that is compared, the old holder would have got through.
    let by_version = store.put(lease(fixture, "a"), Condition::IfVersion(version(1)));
    assert_eq!(by_version.await.unwrap().version, version(2));
}

pub(super) async fn it_cannot_be_renewed_once_it_expired(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let held = acquire(fixture, "a").await;
    advance(fixture, TTL);
    let renewed = store.put(lease(fixture, "a"), Condition::IfEtag(held.etag.clone()));
    expect::condition_failed(renewed.await);
    is_absent(store, &held.key).await;
    let released = store.delete(&held.key, Condition::IfEtag(held.etag));
    expect::not_found(released.await);
}

pub(super) async fn of_racing_heirs_exactly_one_gets_it(fixture: &Fixture<dyn DocumentStore>) {
    for round in 0..4 {
        let results = race(64, |task| {
            let store = Arc::clone(&fixture.store);
            let lease = lease(fixture, &format!("holder {task}"));
            async move { store.put(lease, Condition::IfAbsent).await }
        })
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "round {round}");
        for loser in lost {
            expect::condition_failed(loser);
        }
        is_stored(&*fixture.store, won[0].as_ref().unwrap()).await;
        advance(fixture, TTL);
    }
}
