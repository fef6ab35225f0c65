//! Many tasks on one key: exactly one wins, nothing is lost, nothing is counted twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt, ErrorKind, Record, RecordKind, Result,
};

use super::records::{PK, advance, in_millis, is_absent, is_stored, key, put, record, version};
use crate::expect;
use crate::harness::Fixture;
use crate::race::race;

const TASKS: usize = 64;

/// Races puts under one condition, each with data of its own.
async fn racing_puts(
    fixture: &Fixture<dyn DocumentStore>,
    condition: &Condition,
) -> Vec<Result<Record>> {
    race(TASKS, |task| {
        let store = Arc::clone(&fixture.store);
        let condition = condition.clone();
        async move { store.put(record("sk", task.to_string()), condition).await }
    })
    .await
}

/// Exactly one has written, it is what is stored, and the others were told that they have not.
async fn one_winner(fixture: &Fixture<dyn DocumentStore>, results: Vec<Result<Record>>) -> Record {
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1, "exactly one wins");
    for loser in lost {
        expect::condition_failed(loser);
    }
    let winner = won.into_iter().next().unwrap().unwrap();
    is_stored(&*fixture.store, &winner).await;
    winner
}

pub(super) async fn of_racing_puts_if_absent_exactly_one_wins(
    fixture: &Fixture<dyn DocumentStore>,
) {
    for _ in 0..4 {
        let results = racing_puts(fixture, &Condition::IfAbsent).await;
        let winner = one_winner(fixture, results).await;
        assert_eq!(winner.version, version(1));
        let deleted = fixture.store.delete(&winner.key, Condition::None).await;
        deleted.unwrap();
    }
}

pub(super) async fn of_racing_puts_on_one_version_exactly_one_wins(
    fixture: &Fixture<dyn DocumentStore>,
) {
    put(&*fixture.store, record("sk", "")).await;
    for number in 1..5 {
        let condition = Condition::IfVersion(version(number));
        let results = racing_puts(fixture, &condition).await;
        let winner = one_winner(fixture, results).await;
        assert_eq!(winner.version, version(number + 1));
    }
}

pub(super) async fn of_racing_puts_on_one_etag_exactly_one_wins(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let mut last = put(&*fixture.store, record("sk", "")).await;
    for _ in 0..4 {
        let results = racing_puts(fixture, &Condition::IfEtag(last.etag)).await;
        let winner = one_winner(fixture, results).await;
        assert_eq!(winner.version, last.version.next());
        last = winner;
    }
}

pub(super) async fn of_racing_deletes_on_one_etag_exactly_one_wins(
    fixture: &Fixture<dyn DocumentStore>,
) {
    for _ in 0..4 {
        let held = put(&*fixture.store, record("sk", "")).await;
        let results = race(TASKS, |_| {
            let store = Arc::clone(&fixture.store);
            let held = held.clone();
            async move { store.delete(&held.key, Condition::IfEtag(held.etag)).await }
        })
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "exactly one deletes");
        for loser in lost {
            expect::not_found(loser);
        }
        is_absent(&*fixture.store, &held.key).await;
    }
}

pub(super) async fn of_a_put_and_a_delete_on_one_etag_one_wins(
    fixture: &Fixture<dyn DocumentStore>,
) {
    for _ in 0..20 {
        let held = put(&*fixture.store, record("sk", "held")).await;
        let results = race(2, |task| {
            let store = Arc::clone(&fixture.store);
            let (key, etag) = (held.key.clone(), Condition::IfEtag(held.etag.clone()));
            async move {
                if task == 0 {
                    store.put(record("sk", "renewed"), etag).await.map(Some)
                } else {
                    store.delete(&key, etag).await.map(|()| None)
                }
            }
        })
        .await;
        let won: Vec<_> = results.iter().flatten().collect();
        let [winner] = won[..] else {
            panic!("not one winner: {results:?}");
        };
        match winner {
            Some(renewed) => is_stored(&*fixture.store, renewed).await,
            None => is_absent(&*fixture.store, &held.key).await,
        }
    }
}

pub(super) async fn no_compare_and_set_is_lost(fixture: &Fixture<dyn DocumentStore>) {
    const UPDATES: usize = 2;
    let key = key(PK, "sk");
    let written = race(TASKS, |_| {
        let store = Arc::clone(&fixture.store);
        let key = key.clone();
        async move {
            let mut written = Vec::new();
            for _ in 0..UPDATES {
                // The data are one byte longer with each update that was not lost.
                let updated = store.update(&key, |stored| {
                    let length = stored.map_or(0, |stored| stored.data.len());
                    Ok(Some(record("sk", vec![b'+'; length + 1])))
                });
                written.push(updated.await.unwrap().unwrap());
            }
            written
        }
    })
    .await;
    let all = TASKS * UPDATES;
    let written: Vec<_> = written.into_iter().flatten().collect();
    let versions: BTreeSet<_> = written.iter().map(|record| record.version.get()).collect();
    assert!(
        versions.iter().copied().eq(1..=all as u64),
        "versions have no gap and no repeat: {versions:?}"
    );
    for record in &written {
        assert_eq!(record.data.len() as u64, record.version.get());
    }
    let last = fixture.store.get(&key).await.unwrap();
    assert_eq!(last.data.len(), all);
}

pub(super) async fn racing_unconditional_puts_each_take_a_version(
    fixture: &Fixture<dyn DocumentStore>,
) {
    const PUTTERS: usize = 32;
    const PUTS: usize = 2;
    let written = race(PUTTERS, |task| {
        let store = Arc::clone(&fixture.store);
        async move {
            let mut written = Vec::new();
            for number in 0..PUTS {
                written.push(put(&*store, record("sk", format!("{task}: {number}"))).await);
            }
            written
        }
    })
    .await;
    for of_one in &written {
        assert!(of_one.is_sorted_by_key(|record| record.version));
    }
    let mut written: Vec<_> = written.into_iter().flatten().collect();
    written.sort_unstable_by_key(|record| record.version);
    let versions = written.iter().map(|record| record.version.get());
    assert!(
        versions.eq(1..=(PUTTERS * PUTS) as u64),
        "no gap, no repeat"
    );
    is_stored(&*fixture.store, written.last().unwrap()).await;
}

/// What 64 racing increments by one return, and that the counter stands at 64 then.
async fn counts_to_sixty_four(fixture: &Fixture<dyn DocumentStore>, sk: &str) {
    let key = key(PK, sk);
    let expire_at = in_millis(fixture, 1_000);
    let mut values = race(TASKS, |task| {
        let store = Arc::clone(&fixture.store);
        let key = key.clone();
        let expire_at = (task % 2 == 0).then_some(expire_at);
        async move { store.increment(&key, 1, expire_at).await.unwrap() }
    })
    .await;
    values.sort_unstable();
    assert!(values.iter().copied().eq(1..=64), "{values:?}");
    assert_eq!(fixture.store.increment(&key, 0, None).await.unwrap(), 64);
}

pub(super) async fn racing_increments_see_every_value_once(fixture: &Fixture<dyn DocumentStore>) {
    for round in 0..4 {
        counts_to_sixty_four(fixture, &format!("counter {round}")).await;
    }
}

pub(super) async fn racing_increments_over_an_expired_counter_see_every_value_once(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let expired = in_millis(fixture, 1);
    let key = key(PK, "counter");
    let started = fixture.store.increment(&key, 1_000, Some(expired)).await;
    started.unwrap();
    for _ in 0..4 {
        // One second at least: what the race before has set has expired as well.
        advance(fixture, 1_000);
        counts_to_sixty_four(fixture, "counter").await;
    }
}

pub(super) async fn racing_increments_never_pass_the_range(fixture: &Fixture<dyn DocumentStore>) {
    let key = key(PK, "counter");
    let started = fixture.store.increment(&key, i64::MAX - 10, None).await;
    started.unwrap();
    let results = race(TASKS, |_| {
        let store = Arc::clone(&fixture.store);
        let key = key.clone();
        async move { store.increment(&key, 1, None).await }
    })
    .await;
    let (counted, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(counted.len(), 10);
    for refused in refused {
        expect::invalid(refused, "delta");
    }
    let last = fixture.store.increment(&key, 0, None).await.unwrap();
    assert_eq!(last, i64::MAX);
}

pub(super) async fn of_a_racing_record_and_counter_one_kind_wins(
    fixture: &Fixture<dyn DocumentStore>,
) {
    for round in 0..10 {
        let sk = format!("round {round}");
        let key = key(PK, &sk);
        let results = race(16, |task| {
            let store = Arc::clone(&fixture.store);
            let key = key.clone();
            let new = record(&sk, "data");
            async move {
                if task % 2 == 0 {
                    store.put(new, Condition::None).await.map(|_| ())
                } else {
                    store.increment(&key, 1, None).await.map(|_| ())
                }
            }
        })
        .await;
        let found = fixture.store.find(&key).await.unwrap();
        let (even, odd): (Vec<_>, Vec<_>) = results
            .into_iter()
            .enumerate()
            .partition(|(task, _)| task % 2 == 0);
        let (winners, losers, stored) = if found.is_some() {
            (even, odd, RecordKind::Record)
        } else {
            (odd, even, RecordKind::Counter)
        };
        for (_, result) in winners {
            result.expect("all of the kind that came first succeed");
        }
        for (_, result) in losers {
            let error = result.expect_err("the other kind is refused");
            assert_eq!(*error.kind(), ErrorKind::WrongKind { stored }, "{error:?}");
        }
    }
}
