//! Many tasks on one claim: exactly one wins, and nobody fails for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use changestore_core::{ChangeStore, ChangeStoreExt, CreateOutcome, Version};

use super::claims::{at, claim, create, json, key, numbered, stored, update};
use crate::harness::Fixture;
use crate::race::race;

const TASKS: usize = 64;

pub(super) async fn of_racing_creates_exactly_one_is_created(fixture: &Fixture<dyn ChangeStore>) {
    for round in 0..4 {
        let contested = key("queue", "uri", &format!("request {round}"));
        let outcomes = race(TASKS, |task| {
            let store = Arc::clone(&fixture.store);
            let claim = numbered(contested.clone(), task);
            async move { store.create(claim).await.expect("no racing create fails") }
        })
        .await;
        let winners: Vec<_> = (0..TASKS)
            .filter(|task| outcomes[*task] == CreateOutcome::Created)
            .collect();
        let [winner] = winners[..] else {
            panic!("several say that they created the claim: {winners:?}");
        };
        assert_eq!(
            stored(&*fixture.store, &contested).await,
            numbered(contested, winner),
            "the winner's claim is the one that is there"
        );
    }
}

pub(super) async fn racing_creates_of_many_claims_each_have_one_winner(
    fixture: &Fixture<dyn ChangeStore>,
) {
    const CLAIMS: usize = 16;
    let nth = |number: usize| claim("queue", &format!("uri {}", number % CLAIMS), "request");
    let outcomes = race(TASKS, |task| {
        let store = Arc::clone(&fixture.store);
        async move { store.create(nth(task)).await.expect("none fails") }
    })
    .await;
    for number in 0..CLAIMS {
        let of_this = outcomes.iter().skip(number).step_by(CLAIMS);
        let created = of_this.filter(|outcome| **outcome == CreateOutcome::Created);
        assert_eq!(created.count(), 1, "claim {number}");
        let claim = nth(number);
        assert_eq!(stored(&*fixture.store, &claim.key).await, claim);
    }
}

pub(super) async fn racing_requests_on_one_uri_are_all_created(fixture: &Fixture<dyn ChangeStore>) {
    let nth = |number: usize| claim("queue", "uri", &format!("{number:02}"));
    let outcomes = race(TASKS, |task| {
        let store = Arc::clone(&fixture.store);
        async move { store.create(nth(task)).await.expect("none fails") }
    })
    .await;
    assert_eq!(outcomes, [CreateOutcome::Created; TASKS]);
    let found = fixture.store.get_by_uri("queue", "uri").await.unwrap();
    assert_eq!(found, (0..TASKS).map(nth).collect::<Vec<_>>());
}

pub(super) async fn of_racing_updates_on_one_version_exactly_one_wins(
    fixture: &Fixture<dyn ChangeStore>,
) {
    let contested = claim("queue", "uri", "request");
    create(&*fixture.store, &contested).await;
    for old in 1..5 {
        let results = race(TASKS, |task| {
            let store = Arc::clone(&fixture.store);
            let key = contested.key.clone();
            let mut change = update(old, old + 1);
            change.metadata = json(format!(r#"{{"task": {task}}}"#));
            async move { store.update_metadata(&key, change).await }
        })
        .await;
        let winners: Vec<_> = (0..TASKS).filter(|task| results[*task].is_ok()).collect();
        let [winner] = winners[..] else {
            panic!("not one winner on version {old}: {winners:?}");
        };
        for error in results.into_iter().filter_map(Result::err) {
            let stored = error.stored_version().map(Version::get);
            assert_eq!(
                stored,
                Some(old + 1),
                "the losers learn the version: {error:?}"
            );
        }
        let now = stored(&*fixture.store, &contested.key).await;
        assert_eq!(now.version.get(), old + 1);
        assert_eq!(now.metadata, json(format!(r#"{{"task": {winner}}}"#)));
    }
}

pub(super) async fn no_update_is_lost(fixture: &Fixture<dyn ChangeStore>) {
    const UPDATERS: usize = 32;
    const UPDATES: usize = 2;
    let contested = claim("queue", "uri", "request");
    create(&*fixture.store, &contested).await;
    let written = race(UPDATERS, |task| {
        let store = Arc::clone(&fixture.store);
        let key = contested.key.clone();
        async move {
            let mut versions = Vec::new();
            for _ in 0..UPDATES {
                let append = store.annotate(&key, at(2_000), |claim| {
                    let before = claim.metadata.as_str();
                    Ok(json(format!(r"[{task}, {before}]")))
                });
                versions.push(append.await.unwrap().get());
            }
            versions
        }
    })
    .await;
    let all = (UPDATERS * UPDATES) as u64;
    let versions: BTreeSet<_> = written.iter().flatten().copied().collect();
    assert!(
        versions.iter().copied().eq(2..=all + 1),
        "versions have no gap and no repeat: {versions:?}"
    );
    let last = stored(&*fixture.store, &contested.key).await;
    assert_eq!(last.version.get(), all + 1);
    // Each update wrapped what it had read: none of them is missing from the nest.
    for task in 0..UPDATERS {
        let mine = last
            .metadata
            .as_str()
            .matches(&format!("[{task}, "))
            .count();
        assert_eq!(mine, UPDATES, "updates of task {task}");
    }
}
