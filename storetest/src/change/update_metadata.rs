//! `update_metadata`: a pure conditional write; the caller owns the arithmetic.

use changestore_core::{ChangeStore, MetadataUpdate, Timestamp};

use super::claims::{at, claim, create, json, key, stored, update, updated, version};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn it_sets_metadata_version_and_time_and_nothing_else(
    fixture: &Fixture<dyn ChangeStore>,
) {
    let store = &*fixture.store;
    let mut claim = claim("queue", "uri", "request");
    create(store, &claim).await;
    for (old, updated_at) in [(1, at(2_000)), (2, Timestamp::MAX), (3, Timestamp::EPOCH)] {
        let change = MetadataUpdate {
            updated_at,
            ..update(old, old + 1)
        };
        store
            .update_metadata(&claim.key, change.clone())
            .await
            .unwrap();
        claim = updated(&claim, &change);
        assert_eq!(stored(store, &claim.key).await, claim);
    }
}

pub(super) async fn without_a_claim_it_is_not_found(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let missing = key("queue", "uri", "request");
    expect::not_found(store.update_metadata(&missing, update(1, 2)).await);
    expect::not_found(store.update_metadata(&missing, update(0, 1)).await);
    // Neighbours in each part of the key are no such claim.
    let neighbours = [
        claim("queue", "uri", "request2"),
        claim("queue", "uri2", "request"),
        claim("queue2", "uri", "request"),
    ];
    for neighbour in &neighbours {
        create(store, neighbour).await;
    }
    expect::not_found(store.update_metadata(&missing, update(1, 2)).await);
    for neighbour in &neighbours {
        assert_eq!(stored(store, &neighbour.key).await, *neighbour);
    }
    assert_eq!(
        store.get_by_uri("queue", "uri").await.unwrap(),
        [neighbours[0].clone()],
        "an update creates nothing"
    );
}

pub(super) async fn a_mismatch_carries_the_stored_version(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claim = claim("queue", "uri", "request");
    create(store, &claim).await;
    for stored in [1, 5, i64::MAX.unsigned_abs()] {
        for wrong in [0, 2, 4, 6, i64::MAX.unsigned_abs() - 1] {
            let refused = store.update_metadata(&claim.key, update(wrong, 9)).await;
            expect::version_mismatch(refused, version(stored));
        }
        let next = if stored == 1 {
            5
        } else {
            i64::MAX.unsigned_abs()
        };
        store
            .update_metadata(&claim.key, update(stored, next))
            .await
            .unwrap();
    }
}

pub(super) async fn a_mismatch_changes_nothing(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claim = claim("queue", "uri", "request");
    create(store, &claim).await;
    for wrong in [0, 2, 3] {
        let refused = store.update_metadata(&claim.key, update(wrong, 1)).await;
        expect::version_mismatch(refused, version(1));
        assert_eq!(stored(store, &claim.key).await, claim);
    }
}

pub(super) async fn the_same_metadata_at_the_right_version_succeed(
    fixture: &Fixture<dyn ChangeStore>,
) {
    let store = &*fixture.store;
    let claim = claim("queue", "uri", "request");
    create(store, &claim).await;
    // Nothing differs, not even version and time: a server that counts changed rows counts none.
    let nothing_new = MetadataUpdate {
        metadata: claim.metadata.clone(),
        old_version: claim.version,
        new_version: claim.version,
        updated_at: claim.updated_at,
    };
    store
        .update_metadata(&claim.key, nothing_new.clone())
        .await
        .unwrap();
    assert_eq!(stored(store, &claim.key).await, claim);
    let next = MetadataUpdate {
        new_version: version(2),
        ..nothing_new
    };
    store
        .update_metadata(&claim.key, next.clone())
        .await
        .unwrap();
    assert_eq!(stored(store, &claim.key).await, updated(&claim, &next));
}

pub(super) async fn the_new_version_is_whatever_the_caller_says(
    fixture: &Fixture<dyn ChangeStore>,
) {
    let store = &*fixture.store;
    let claim = claim("queue", "uri", "request");
    create(store, &claim).await;
    let greatest = i64::MAX.unsigned_abs();
    let mut now = 1;
    for new in [
        100,
        3,
        3,
        greatest - 1,
        greatest,
        greatest,
        1 << 53,
        (1 << 53) + 1,
        1,
    ] {
        store
            .update_metadata(&claim.key, update(now, new))
            .await
            .unwrap();
        now = new;
        let stored = stored(store, &claim.key).await;
        assert_eq!(stored, updated(&claim, &update(now, new)));
    }
}

pub(super) async fn a_new_version_of_zero_is_refused(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claim = claim("queue", "uri", "request");
    create(store, &claim).await;
    for old in [1, 0, 7] {
        let refused = store.update_metadata(&claim.key, update(old, 0)).await;
        expect::invalid(refused, "new_version");
    }
    assert_eq!(stored(store, &claim.key).await, claim);
    // Before any look at the store: a missing claim makes no difference.
    let missing = key("queue", "uri", "nobody");
    let refused = store.update_metadata(&missing, update(1, 0)).await;
    expect::invalid(refused, "new_version");
}

pub(super) async fn other_claims_stay_untouched(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let changed = claim("queue", "uri", "request");
    create(store, &changed).await;
    let others = [
        claim("queue", "uri", "Request"),
        claim("queue", "uri", "request "),
        claim("queue", "uri/", "request"),
        claim("queue", "Uri", "request"),
        claim("Queue", "uri", "request"),
        claim("queue", "ur", "irequest"),
    ];
    for other in &others {
        create(store, other).await;
    }
    let change = MetadataUpdate {
        metadata: json("[]"),
        ..update(1, 2)
    };
    store.update_metadata(&changed.key, change).await.unwrap();
    for other in &others {
        assert_eq!(stored(store, &other.key).await, *other);
    }
}
