//! The tests under faults of the network, proven able to fail.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use store_mem::MemStore;
use storetest::torture::faults::{self, NetworkHarness, Route};
use storetest::torture::{Anomaly, Settings, Tally};
use storetest::{Fixture, Harness};

use crate::ROUNDS;
use crate::wire::{Mistake, Server, Wired};

#[derive(Debug)]
struct WireHarness {
    server: Server,
    mistake: Option<Mistake>,
}

impl WireHarness {
    fn new(mistake: Option<Mistake>) -> Self {
        Self {
            server: Server::start(),
            mistake,
        }
    }

    fn store(&self, address: SocketAddr, patience: Duration, clock: &ManualClock) -> Arc<Wired> {
        Arc::new(Wired {
            store: MemStore::with_clock(clock.clone()),
            clock: clock.clone(),
            server: self.server.clone(),
            address,
            patience,
            mistake: self.mistake,
            idle: Mutex::default(),
        })
    }
}

#[async_trait]
impl Harness for WireHarness {
    fn backend(&self) -> &'static str {
        "wire"
    }

    async fn engine(&self) -> String {
        "store-mem over TCP".to_owned()
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let store = self.store(self.server.address, Duration::from_mins(1), &clock);
        Fixture::new(store as Arc<dyn ChangeStore>, clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let store = self.store(self.server.address, Duration::from_mins(1), &clock);
        Fixture::new(store as Arc<dyn DocumentStore>, clock)
    }
}

#[async_trait]
impl NetworkHarness for WireHarness {
    fn server(&self) -> String {
        self.server.address.to_string()
    }

    async fn changes_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn ChangeStore> {
        let store = self.store(route.address, route.patience / 4, &clock);
        Fixture::new(store as Arc<dyn ChangeStore>, clock)
    }

    async fn documents_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn DocumentStore> {
        let store = self.store(route.address, route.patience / 4, &clock);
        Fixture::new(store as Arc<dyn DocumentStore>, clock)
    }
}

#[track_caller]
fn has(tally: &Tally, anomaly: Anomaly) {
    let found = tally
        .violations
        .iter()
        .flat_map(|violation| &violation.anomalies);
    let shown = tally.violations.first().map(ToString::to_string);
    assert!(
        found.clone().any(|it| *it == anomaly),
        "{anomaly} is not found, but {shown:?}"
    );
    assert!(tally.faults > 0);
}

#[test]
fn an_increment_that_is_sent_again() {
    let harness = WireHarness::new(Some(Mistake::Resends));
    let tally = faults::check_documents(&harness, Settings::one_round(1));
    has(&tally, Anomaly::DoubleIncrement);
}

#[test]
fn a_lost_reply_that_is_said_to_be_no_write() {
    let harness = WireHarness::new(Some(Mistake::SaysNothingHappened));
    let tally = faults::check_documents(&harness, Settings::one_round(1));
    has(&tally, Anomaly::AppliedFailure);
    let tally = faults::check_claims(&harness, Settings::one_round(1));
    has(&tally, Anomaly::AppliedFailure);
    let found = (0..20).any(|seed| {
        let tally = faults::check_document_histories(&harness, Settings::one_round(seed));
        let mut found = tally
            .violations
            .iter()
            .flat_map(|violation| &violation.anomalies);
        found.any(|it| *it == Anomaly::AppliedFailure)
    });
    assert!(found, "in no history");
}

#[test]
fn a_broken_connection_that_is_used_again() {
    let harness = WireHarness::new(Some(Mistake::KeepsTheConnection));
    has(
        &faults::check_documents(&harness, Settings::one_round(1)),
        Anomaly::Unhealthy,
    );
    has(
        &faults::check_claims(&harness, Settings::one_round(1)),
        Anomaly::Unhealthy,
    );
}

#[test]
fn a_call_that_waits_for_ever() {
    let harness = WireHarness::new(Some(Mistake::Waits));
    has(
        &faults::check_claims(&harness, Settings::one_round(1)),
        Anomaly::Unbounded,
    );
}

/// What the programs find of a mistake, in the first program that finds something.
#[track_caller]
fn programs_find(mistake: Mistake, anomaly: Anomaly) -> String {
    let harness = WireHarness::new(Some(mistake));
    let violation = (0..ROUNDS).find_map(|seed| {
        let tally = faults::check_programs(&harness, Settings::one_round(seed));
        tally.violations.into_iter().next()
    });
    let violation = violation.expect("found");
    assert_eq!(violation.anomalies, [anomaly], "{violation}");
    violation.shown
}

#[test]
fn a_program_whose_increment_is_sent_again() {
    programs_find(Mistake::Resends, Anomaly::UnlikeTheModel);
}

#[test]
fn a_program_whose_lost_reply_is_said_to_be_no_write() {
    programs_find(Mistake::SaysNothingHappened, Anomaly::UnlikeTheModel);
}

#[test]
fn a_program_whose_broken_connection_is_used_again() {
    programs_find(Mistake::KeepsTheConnection, Anomaly::Unhealthy);
}

/// It is made as short as it can be, and shows what the network did.
#[test]
fn a_program_whose_lost_write_is_said_to_be_done() {
    let shown = programs_find(Mistake::SaysDone, Anomaly::UnlikeTheModel);
    let steps = shown.lines().filter(|line| line.ends_with(';')).count();
    assert!((1..=3).contains(&steps), "{shown}");
    assert!(shown.contains(", with "), "{shown}");
}

#[test]
fn without_a_mistake_nothing_is_found() {
    let harness = WireHarness::new(None);
    let settings = Settings::one_round(1);
    for tally in [
        faults::check_documents(&harness, settings),
        faults::check_claims(&harness, settings),
        faults::check_document_histories(&harness, settings),
        faults::check_claim_histories(&harness, settings),
        faults::check_programs(&harness, settings),
    ] {
        assert!(tally.violations.is_empty(), "{}", tally.violations[0]);
        assert!(tally.faults > 0 && tally.operations > 0);
    }
}
