//! A dropped future leaves no half write, and a store that goes on.
//!
//! The dropped write may have happened, or may even happen a moment later: what it left is judged by
//! a write after which it cannot any more.

use changestore_core::{ChangeRecord, ChangeStore, ChangeStoreExt, CreateOutcome, MetadataUpdate};

use super::claims::{at, claim, create, json, key, numbered, stored, update, updated, version};
use crate::cancel::{drop_at, rounds, rounds_after_a_pause};
use crate::harness::Fixture;

const ROUNDS: usize = 320;

pub(super) async fn a_dropped_create_is_whole_or_absent(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    rounds(ROUNDS, async |round, point| {
        let dropped = numbered(key("queue", &format!("uri {round}"), "request"), round);
        let ended = drop_at(point, store.create(dropped.clone())).await;
        let again = ChangeRecord {
            metadata: json("\"again\""),
            ..dropped.clone()
        };
        let outcome = store.create(again.clone()).await.unwrap();
        let left = store.get_by_uri("queue", dropped.key.uri()).await.unwrap();
        match outcome {
            CreateOutcome::AlreadyThere => assert_eq!(left, [dropped]),
            CreateOutcome::Created => {
                assert!(ended.is_none(), "an acknowledged claim was lost");
                assert_eq!(left, [again]);
            }
        }
    })
    .await;
}

pub(super) async fn a_dropped_update_is_whole_or_absent(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    rounds(ROUNDS, async |round, point| {
        let before = claim("queue", &format!("uri {round}"), "request");
        create(store, &before).await;
        let dropped = MetadataUpdate {
            metadata: json(format!("[{round}]")),
            ..update(1, 2)
        };
        let ended = drop_at(point, store.update_metadata(&before.key, dropped.clone())).await;
        // From version 1 only one of the two can go on.
        let rival = MetadataUpdate {
            metadata: json("\"rival\""),
            updated_at: at(3_000),
            ..update(1, 3)
        };
        match store.update_metadata(&before.key, rival.clone()).await {
            Ok(()) => {
                assert!(ended.is_none(), "an acknowledged update was lost");
                assert_eq!(stored(store, &before.key).await, updated(&before, &rival));
            }
            Err(error) => {
                assert_eq!(error.stored_version(), Some(version(2)), "{error:?}");
                assert_eq!(stored(store, &before.key).await, updated(&before, &dropped));
            }
        }
    })
    .await;
}

pub(super) async fn after_dropped_reads_the_store_goes_on(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let first = claim("queue", "uri", "request");
    create(store, &first).await;
    rounds(ROUNDS, async |_, point| {
        let read = drop_at(point, store.get_by_uri("queue", "uri")).await;
        if let Some(found) = read {
            assert_eq!(found.unwrap(), std::slice::from_ref(&first));
        }
    })
    .await;
    assert_eq!(
        store.find_claim(&first.key).await.unwrap(),
        Some(first.clone())
    );
    create(store, &claim("queue", "uri", "another request")).await;
    store
        .update_metadata(&first.key, update(1, 2))
        .await
        .unwrap();
}

/// A store may ask the server something of its own before a call, such as whether a connection is still there. If the call
/// is dropped then, no other is told the answer.
pub(super) async fn calls_dropped_after_a_pause_answer_no_others(
    fixture: &Fixture<dyn ChangeStore>,
) {
    let store = &*fixture.store;
    let first = claim("queue", "uri", "request");
    create(store, &first).await;
    let is_found = async || {
        let found = store.get_by_uri("queue", "uri").await.unwrap();
        assert_eq!(found, std::slice::from_ref(&first));
    };
    rounds_after_a_pause(is_found, async |point| {
        drop_at(point, store.get_by_uri("queue", "uri")).await;
    })
    .await;
    rounds(ROUNDS / 4, async |round, _| {
        let new = numbered(key("queue", &format!("uri {round}"), "request"), round);
        let outcomes = [
            store.create(new.clone()).await.unwrap(),
            store.create(new.clone()).await.unwrap(),
        ];
        assert_eq!(
            outcomes,
            [CreateOutcome::Created, CreateOutcome::AlreadyThere]
        );
        assert_eq!(stored(store, &new.key).await, new);
        is_found().await;
    })
    .await;
}
