//! Each detector of the torture tests, proven able to fail: a store in memory with one bug planted is caught by the
//! bug's name.

mod crashing;
mod halved;
mod logged;
mod network;
mod store;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use storetest::torture::{Anomaly, Settings, Tally, history, model};
use storetest::{Fixture, Harness};

use store::Planted;

/// Rounds until a bug that shows now and then has surely shown.
const ROUNDS: u64 = 200;

#[derive(Debug)]
struct PlantedHarness(Option<Anomaly>);

#[async_trait]
impl Harness for PlantedHarness {
    fn backend(&self) -> &'static str {
        "planted"
    }

    async fn engine(&self) -> String {
        format!("store-mem with {:?}", self.0)
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(Arc::new(Planted::new(clock.clone(), self.0)), clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        Fixture::new(Arc::new(Planted::new(clock.clone(), self.0)), clock)
    }
}

/// Rounds until the bug is called by its name. Whatever is found meanwhile must be a violation too, but a history can
/// be too short to tell two bugs apart.
#[track_caller]
fn is_caught(bug: Anomaly, check: fn(&dyn Harness, Settings) -> Tally) {
    let harness = PlantedHarness(Some(bug));
    let mut found = Vec::new();
    for seed in 0..ROUNDS {
        let tally = check(&harness, Settings::one_round(seed));
        let named = |anomalies: &[Anomaly]| anomalies.contains(&bug);
        if tally
            .violations
            .iter()
            .any(|violation| named(&violation.anomalies))
        {
            return;
        }
        found.extend(tally.violations);
    }
    let shown: Vec<_> = found.iter().take(3).map(ToString::to_string).collect();
    panic!("{bug} is not caught; found instead:\n{}", shown.join("\n"));
}

macro_rules! bugs {
    ($($test:ident: $bug:ident by $check:path;)*) => {
        $(#[test]
        fn $test() {
            is_caught(Anomaly::$bug, |harness, settings| $check(harness, settings));
        })*
    };
}

bugs! {
    a_lost_update_of_a_record: LostUpdate by history::check_documents;
    a_lost_update_of_a_claim: LostUpdate by history::check_claims;
    a_stale_read_of_a_record: StaleRead by history::check_documents;
    a_stale_read_of_a_claim: StaleRead by history::check_claims;
    a_double_increment: DoubleIncrement by history::check_documents;
    a_resurrected_expired_record: ResurrectedExpired by history::check_documents;
    a_reused_etag: ReusedEtag by history::check_documents;
    a_reused_version: ReusedVersion by history::check_documents;
    a_swallowed_failure_of_a_put: SwallowedFailure by history::check_documents;
    a_swallowed_failure_of_an_update: SwallowedFailure by history::check_claims;
    a_failure_of_a_put_that_happened: AppliedFailure by history::check_documents;
    a_failure_of_an_update_that_happened: AppliedFailure by history::check_claims;
}

/// The model is unlike a store with any of the bugs that one client alone can see.
#[test]
fn the_model_tells_each_bug_that_needs_no_race() {
    for bug in [
        Anomaly::StaleRead,
        Anomaly::DoubleIncrement,
        Anomaly::ResurrectedExpired,
        Anomaly::ReusedEtag,
        Anomaly::SwallowedFailure,
        Anomaly::AppliedFailure,
    ] {
        let harness = PlantedHarness(Some(bug));
        let found = (0..ROUNDS).any(|seed| {
            let tally = model::check(&harness, Settings::one_round(seed));
            let violations = tally.violations.iter();
            violations
                .flat_map(|violation| &violation.anomalies)
                .any(|is| *is == Anomaly::UnlikeTheModel)
        });
        assert!(found, "{bug} is not told from the model");
    }
}

#[test]
fn without_a_bug_nothing_is_found() {
    let harness = PlantedHarness(None);
    for seed in 0..20 {
        let settings = Settings::one_round(seed);
        for check in [
            history::check_documents,
            history::check_claims,
            model::check,
            model::check_dropped_calls,
        ] {
            let tally = check(&harness, settings);
            assert!(tally.violations.is_empty(), "{}", tally.violations[0]);
            assert!(tally.operations > 0 && tally.histories > 0);
        }
    }
}

/// A program that fails is made as short as it can be.
#[test]
fn a_violation_is_shown_as_a_short_program() {
    let harness = PlantedHarness(Some(Anomaly::ResurrectedExpired));
    let violation = (0..ROUNDS).find_map(|seed| {
        let tally = model::check(&harness, Settings::one_round(seed));
        tally.violations.into_iter().next()
    });
    let shown = violation.expect("found").shown;
    let steps = shown.lines().filter(|line| line.ends_with(';')).count();
    assert!((2..=3).contains(&steps), "{shown}");
    assert!(shown.contains("put(") && shown.contains("get("), "{shown}");
}
