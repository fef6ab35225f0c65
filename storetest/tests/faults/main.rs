//! The suite's own proof: with one clause broken in a store, a case by that clause's name fails.
//!
//! [`table`] has the mistakes that adapters make and the case that catches each; [`store`] makes them.

mod claims;
mod documents;
mod queries;
mod store;
mod table;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use storetest::{CaseName, Fixture, Harness};

use store::Faulty;
use table::{Fault, TABLE};

#[derive(Debug)]
struct FaultyHarness(Option<Fault>);

#[async_trait]
impl Harness for FaultyHarness {
    fn backend(&self) -> &'static str {
        "faulty"
    }

    async fn engine(&self) -> String {
        format!("store-mem with {:?}", self.0)
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(Arc::new(Faulty::new(clock.clone(), self.0)), clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        Fixture::new(Arc::new(Faulty::new(clock.clone(), self.0)), clock)
    }
}

thread_local! {
    static IS_PROBING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics quiet that are asked for here: those of a probe's thread, and of its runtime's.
fn silence_probes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = std::thread::current();
            let of_a_runtime = thread.name().is_some_and(|name| name.starts_with("tokio"));
            if !of_a_runtime && !IS_PROBING.get() {
                print(panic);
            }
        }));
    });
}

/// Runs a case on the store with the fault, or without one: what it panicked with.
fn probe(case: CaseName, fault: Option<Fault>) -> Result<(), String> {
    silence_probes();
    IS_PROBING.set(true);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let harness = FaultyHarness(fault);
        match case.contract {
            "change" => storetest::change::run(&harness, case.topic, case.case),
            _ => storetest::document::run(&harness, case.topic, case.case),
        }
    }));
    IS_PROBING.set(false);
    ended.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_default()
    })
}

#[test]
fn every_fault_is_caught_by_its_case() {
    let missed: Vec<_> = TABLE
        .iter()
        .filter(|(fault, case)| probe(*case, Some(*fault)).is_ok())
        .map(|(fault, case)| format!("{fault:?} gets past {case}"))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn without_a_fault_the_same_cases_pass() {
    let cases: BTreeSet<_> = TABLE.iter().map(|(_, case)| *case).collect();
    let failed: Vec<_> = cases
        .into_iter()
        .filter_map(|case| Some((case, probe(case, None).err()?)))
        .map(|(case, panic)| format!("{case} fails without a fault: {panic}"))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A probe that panics for another reason than its clause would prove nothing.
#[test]
fn every_case_of_the_table_exists() {
    let known: BTreeSet<_> = [storetest::change::CASES, storetest::document::CASES]
        .concat()
        .into_iter()
        .collect();
    let unknown: Vec<_> = TABLE
        .iter()
        .filter(|(_, case)| !known.contains(case))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
