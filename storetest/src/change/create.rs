//! `create`: idempotent, the first write wins.

use changestore_core::{ChangeRecord, ChangeStore, CreateOutcome, Timestamp};

use super::claims::{at, claim, create, json, key, stored, update, updated, version};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn the_same_triple_again_changes_nothing(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let first = claim("queue", "uri", "request");
    create(store, &first).await;
    let second = ChangeRecord {
        metadata: json(r#"{"other": true}"#),
        created_at: at(5_000),
        updated_at: at(6_000),
        ..first.clone()
    };
    for _ in 0..2 {
        let outcome = store.create(second.clone()).await.unwrap();
        assert_eq!(outcome, CreateOutcome::AlreadyThere);
        assert_eq!(
            store.get_by_uri("queue", "uri").await.unwrap(),
            std::slice::from_ref(&first)
        );
    }
}

pub(super) async fn created_is_told_from_already_there(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let first = claim("queue", "uri", "request");
    assert_eq!(
        store.create(first.clone()).await.unwrap(),
        CreateOutcome::Created
    );
    // The very same record is no less "already there".
    assert_eq!(
        store.create(first).await.unwrap(),
        CreateOutcome::AlreadyThere
    );
    let other = claim("queue", "uri", "another request");
    assert_eq!(store.create(other).await.unwrap(), CreateOutcome::Created);
}

pub(super) async fn a_redelivery_does_not_undo_an_update(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let first = claim("queue", "uri", "request");
    create(store, &first).await;
    let change = update(1, 7);
    store
        .update_metadata(&first.key, change.clone())
        .await
        .unwrap();
    assert_eq!(
        store.create(first.clone()).await.unwrap(),
        CreateOutcome::AlreadyThere
    );
    assert_eq!(stored(store, &first.key).await, updated(&first, &change));
}

pub(super) async fn requests_stand_side_by_side_on_one_uri(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let (one, two) = (claim("queue", "uri", "1"), claim("queue", "uri", "2"));
    create(store, &one).await;
    create(store, &two).await;
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), [one, two]);
}

pub(super) async fn a_version_other_than_one_is_refused(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    for wrong in [0, 2, i64::MAX.unsigned_abs()] {
        let refused = ChangeRecord {
            version: version(wrong),
            ..claim("queue", "uri", "request")
        };
        expect::invalid(store.create(refused).await, "version");
    }
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), []);
}

pub(super) async fn times_are_the_callers(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let times = [
        (Timestamp::EPOCH, Timestamp::EPOCH),
        (Timestamp::MAX, Timestamp::MAX),
        (at(1), at(999_999_999_999)),
        // Clocks of two machines differ; the store judges nothing.
        (at(1_795_996_800_001), at(1_795_996_799_999)),
    ];
    for (number, (created_at, updated_at)) in times.into_iter().enumerate() {
        let claim = ChangeRecord {
            created_at,
            updated_at,
            ..claim("queue", "uri", &format!("request {number}"))
        };
        create(store, &claim).await;
        assert_eq!(stored(store, &claim.key).await, claim);
    }
}

pub(super) async fn a_created_claim_comes_back_whole(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claim = ChangeRecord {
        key: key("main", "github://github.com/o/r/pull/7/3f1c", "main/12"),
        metadata: json(r#"{"author": "ada", "files": 3}"#),
        created_at: at(1_795_996_800_123),
        updated_at: at(1_795_996_800_456),
        version: version(1),
    };
    create(store, &claim).await;
    assert_eq!(stored(store, &claim.key).await, claim);
}
