//! A dropped future leaves no half write, and a store that goes on.
//!
//! The dropped write may have happened, or may even happen a moment later: what it left is judged by
//! a write after which it cannot any more.

use changestore_core::{Condition, DocumentStore, DocumentStoreExt, QueryOptions};
use futures::TryStreamExt;

use super::records::{PK, in_millis, is_absent, is_stored, key, put, record, version};
use crate::cancel::{drop_at, rounds, rounds_after_a_pause};
use crate::harness::Fixture;

const ROUNDS: usize = 320;

pub(super) async fn a_dropped_put_is_whole_or_absent(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let expire_at = in_millis(fixture, 1_000);
    rounds(ROUNDS, async |round, point| {
        let sk = round.to_string();
        let dropped = record(&sk, format!("dropped in round {round}")).with_expire_at(expire_at);
        let ended = drop_at(point, store.put(dropped.clone(), Condition::IfAbsent)).await;
        // Of the two, only one finds nothing there.
        match store.put(record(&sk, "rival"), Condition::IfAbsent).await {
            Ok(rival) => {
                assert!(ended.is_none(), "an acknowledged put was lost");
                is_stored(store, &rival).await;
            }
            Err(error) => {
                assert!(error.is_condition_failed(), "{error:?}");
                let left = store.get(dropped.key()).await.unwrap();
                assert_eq!(left.version, version(1));
                assert_eq!(left.data, *dropped.data());
                assert_eq!(left.expire_at, Some(expire_at));
            }
        }
    })
    .await;
}

pub(super) async fn a_dropped_replacement_leaves_the_old_or_the_new(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    rounds(ROUNDS, async |round, point| {
        let sk = round.to_string();
        let old = put(store, record(&sk, "old")).await;
        let new = record(&sk, "new").with_expire_at(in_millis(fixture, 1_000));
        let of_old = Condition::IfEtag(old.etag.clone());
        let ended = drop_at(point, store.put(new.clone(), of_old.clone())).await;
        match store.put(record(&sk, "rival"), of_old).await {
            Ok(rival) => {
                assert!(ended.is_none(), "an acknowledged put was lost");
                assert_eq!(rival.version, version(2));
                is_stored(store, &rival).await;
            }
            Err(error) => {
                assert!(error.is_condition_failed(), "{error:?}");
                let left = store.get(&old.key).await.unwrap();
                assert_eq!((left.version, &left.data), (version(2), new.data()));
                assert_eq!(left.expire_at, new.expire_at());
            }
        }
    })
    .await;
}

pub(super) async fn a_dropped_delete_has_happened_or_not(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    rounds(ROUNDS, async |round, point| {
        let sk = round.to_string();
        let held = put(store, record(&sk, "held")).await;
        let of_held = Condition::IfEtag(held.etag.clone());
        let ended = drop_at(point, store.delete(&held.key, of_held)).await;
        // Under a new etag the dropped delete can do no more.
        let next = put(store, record(&sk, "next")).await;
        match next.version.get() {
            1 => {}
            2 => assert!(ended.is_none(), "an acknowledged delete was undone"),
            other => panic!("version {other} after one write or two"),
        }
        is_stored(store, &next).await;
    })
    .await;
}

pub(super) async fn a_dropped_increment_counts_at_most_once(fixture: &Fixture<dyn DocumentStore>) {
    const PER_COUNTER: usize = 30;
    let store = &*fixture.store;
    let counter = |round: usize| key(PK, &format!("counter {}", round / PER_COUNTER));
    // Each round of a counter has a digit of its own to the base of four, which says how often it was
    // counted.
    let delta = |round: usize| 4_i64.pow(u32::try_from(round % PER_COUNTER).unwrap());
    let counters = ROUNDS / PER_COUNTER;
    let acknowledged = std::sync::Mutex::new(vec![0; counters]);
    rounds(counters * PER_COUNTER, async |round, point| {
        let key = counter(round);
        let ended = drop_at(point, store.increment(&key, delta(round), None)).await;
        if let Some(result) = ended {
            result.unwrap();
            acknowledged.lock().unwrap()[round / PER_COUNTER] |= delta(round);
        }
    })
    .await;
    let acknowledged = acknowledged.into_inner().unwrap();
    for (number, acknowledged) in acknowledged.into_iter().enumerate() {
        let key = counter(number * PER_COUNTER);
        let value = store.increment(&key, 0, None).await.unwrap();
        for round in 0..PER_COUNTER {
            let times = value / delta(round) % 4;
            assert!(
                times <= 1,
                "round {round} was counted {times} times in {value:#x}"
            );
            let was_acknowledged = acknowledged & delta(round) != 0;
            assert!(
                times == 1 || !was_acknowledged,
                "round {round} was lost in {value:#x}"
            );
        }
    }
}

pub(super) async fn after_dropped_reads_the_store_goes_on(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut written = Vec::new();
    for number in 0..300 {
        written.push(put(store, record(&format!("{number:03}"), "")).await);
    }
    rounds(ROUNDS, async |round, point| {
        let expected = &written[round % written.len()];
        if let Some(got) = drop_at(point, store.get(&expected.key)).await {
            assert_eq!(got.unwrap(), *expected);
        }
        let query = store.query(PK, "", QueryOptions::default());
        if let Some(all) = drop_at(point, query.try_collect::<Vec<_>>()).await {
            assert_eq!(all.unwrap().len(), written.len());
        }
    })
    .await;
    let all = store.query_all(PK, "", QueryOptions::default()).await;
    assert_eq!(all.unwrap(), written);
    let next = put(store, record("written after all that", "")).await;
    is_stored(store, &next).await;
    store.delete(&next.key, Condition::None).await.unwrap();
    is_absent(store, &next.key).await;
}

/// A store may ask the server something of its own before a call, such as whether a connection is still there. If the call
/// is dropped then, no other is told the answer.
pub(super) async fn calls_dropped_after_a_pause_answer_no_others(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let first = put(store, record("first", "")).await;
    let is_found = async || is_stored(store, &first).await;
    rounds_after_a_pause(is_found, async |point| {
        drop_at(point, store.get(&first.key)).await;
    })
    .await;
    rounds(ROUNDS / 4, async |round, _| {
        let new = record(&format!("new {round}"), "new");
        let put = store.put(new.clone(), Condition::IfAbsent).await.unwrap();
        is_stored(store, &put).await;
        let again = store.put(new, Condition::IfAbsent).await;
        assert!(again.unwrap_err().is_condition_failed());
        is_found().await;
        store.delete(&put.key, Condition::None).await.unwrap();
        is_absent(store, &put.key).await;
    })
    .await;
}
