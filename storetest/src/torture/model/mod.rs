//! Random programs against the store in memory.
//!
//! A program is a sequence of calls of both contracts and steps of the clock, on few keys whose texts careless stores
//! confuse, under conditions that mostly hold or just do not. The store and the store in memory run it side by side and
//! must tell the same, step by step: results, kinds of failures, versions, orders; and etags that correspond one for
//! one. A program on which they differ is made shorter as long as they still differ.
//!
//! Calls fail in some programs: their futures are dropped, or, where there is a network, it has a fault. What then
//! cannot be known may be either way, until the store tells.

mod call;
mod program;
mod run;
mod show;
mod told;
mod worlds;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use changestore_core::{ChangeStore, DocumentStore};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::faults::Proxy;
use super::rounds::rounds;
use super::{Anomaly, Settings, Tally, Violation};
use crate::{Fixture, Harness};
use program::{Failures, Program, programs};
use run::Difference;
pub(super) use run::Stores;

/// How many programs a seed draws; each takes longer under faults, some of which hang.
const PROGRAMS: u32 = 8;
const PROGRAMS_UNDER_FAULTS: u32 = 2;

/// How often a program is run to make it shorter, and how long, in milliseconds.
const MOST_TRIES: u32 = 500;
const LONGEST_TRIES: u32 = 15_000;

/// Random programs of all operations of both contracts.
pub fn check(harness: &dyn Harness, settings: Settings) -> Tally {
    check_with(harness, settings, Failures::None)
}

/// Random programs in which calls are dropped before they end.
pub fn check_dropped_calls(harness: &dyn Harness, settings: Settings) -> Tally {
    check_with(harness, settings, Failures::Some(&[]))
}

fn check_with(harness: &dyn Harness, settings: Settings, failures: Failures<'static>) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| {
            let documents = harness.documents(namespace, clock.clone()).await;
            let changes = harness
                .changes(&format!("{namespace}c"), clock.clone())
                .await;
            (documents, changes)
        },
        async |(documents, changes), seed| {
            let stores = Stores::new(documents, changes, None);
            block_in_place(|| round(&Handle::current(), &stores, failures, PROGRAMS, seed))
        },
    )
}

impl<'a> Stores<'a> {
    pub(super) fn new(
        documents: &Fixture<dyn DocumentStore>,
        changes: &Fixture<dyn ChangeStore>,
        proxies: Option<[&'a Proxy; 2]>,
    ) -> Self {
        Self {
            documents: documents.store.clone(),
            changes: changes.store.clone(),
            clock: documents.clock.clone(),
            proxies,
        }
    }
}

/// The programs of one seed, on stores behind proxies. Blocks.
pub(super) fn round_under_faults(runtime: &Handle, stores: &Stores<'_>, seed: u64) -> Tally {
    let [documents, changes] = stores.proxies.expect("they are behind proxies");
    let made = || documents.made() + changes.made();
    let before = made();
    let faults = documents.faults();
    let failures = Failures::Some(&faults);
    let mut tally = round(runtime, stores, failures, PROGRAMS_UNDER_FAULTS, seed);
    tally.faults += made() - before;
    tally
}

/// The programs of one seed.
fn round(
    runtime: &Handle,
    stores: &Stores<'_>,
    failures: Failures<'_>,
    count: u32,
    seed: u64,
) -> Tally {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let (operations, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
    // What is wrong by the words for it: only they come back.
    let anomalies = Mutex::new(HashMap::new());
    let config = Config {
        cases: count,
        failure_persistence: None,
        max_shrink_iters: MOST_TRIES,
        max_shrink_time: LONGEST_TRIES,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, random(seed));
    let result = runner.run(&programs(failures), |program| {
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        operations.fetch_add(program.steps.len() as u64, Ordering::Relaxed);
        let ended = runtime.block_on(run::run(stores, &program, run));
        let Difference { anomaly, shown } = match ended {
            Ok(so_many) => {
                dropped.fetch_add(so_many, Ordering::Relaxed);
                return Ok(());
            }
            Err(difference) => difference,
        };
        let mut anomalies = anomalies.lock().unwrap_or_else(PoisonError::into_inner);
        anomalies.insert(shown.clone(), anomaly);
        Err(TestCaseError::fail(shown))
    });
    let anomalies = anomalies.into_inner();
    let anomalies = anomalies.unwrap_or_else(PoisonError::into_inner);
    Tally {
        operations: operations.into_inner(),
        histories: count.into(),
        faults: dropped.into_inner(),
        crashes: 0,
        violations: result
            .err()
            .map(|error| violation(error, &anomalies, seed))
            .into_iter()
            .collect(),
    }
}

fn violation(
    error: TestError<Program>,
    anomalies: &HashMap<String, Anomaly>,
    seed: u64,
) -> Violation {
    match error {
        TestError::Fail(reason, program) => {
            let reason = reason.message();
            let anomaly = anomalies.get(reason).copied();
            Violation::new(
                // A panic of ours has no other name.
                anomaly.unwrap_or(Anomaly::Panic),
                seed,
                format!("{}{reason}", show::show(&program)),
            )
        }
        TestError::Abort(reason) => {
            Violation::new(Anomaly::Undecided, seed, reason.message().to_owned())
        }
    }
}

/// proptest's own generator, from a seed of 64 bits.
fn random(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}
