//! Random programs against the store in memory.
//!
//! A program is a sequence of calls of both contracts and steps of the clock, on few keys whose texts careless stores
//! confuse, under conditions that mostly hold or just do not. The store and the store in memory run it side by side and
//! must tell the same, step by step: results, kinds of failures, versions, orders; and etags that correspond one for
//! one. A program on which they differ is made shorter as long as they still differ.

mod program;
mod run;
mod show;
mod told;

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::rounds::rounds;
use super::{Anomaly, Settings, Tally, Violation};
use crate::Harness;
use program::{Program, programs};
use run::Stores;

/// How many programs a seed draws.
const PROGRAMS: u32 = 8;

/// How often a program is run to make it shorter.
const MOST_TRIES: u32 = 500;

/// Random programs of all operations of both contracts.
pub fn check(harness: &dyn Harness, settings: Settings) -> Tally {
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
            let stores = Stores {
                documents: documents.store.clone(),
                changes: changes.store.clone(),
                clock: documents.clock.clone(),
            };
            block_in_place(|| round(&stores, seed))
        },
    )
}

/// The programs of one seed.
fn round(stores: &Stores, seed: u64) -> Tally {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let operations = AtomicU64::new(0);
    let config = Config {
        cases: PROGRAMS,
        failure_persistence: None,
        max_shrink_iters: MOST_TRIES,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, random(seed));
    let result = runner.run(&programs(), |program| {
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        operations.fetch_add(program.steps.len() as u64, Ordering::Relaxed);
        let ended = Handle::current().block_on(run::run(stores, &program, run));
        ended.map_err(|different| {
            let run::Difference { step, store, model } = different;
            let number = step + 1;
            TestCaseError::fail(format!(
                "step {number}: the store says {store}\n  the model {model}"
            ))
        })
    });
    Tally {
        operations: operations.into_inner(),
        histories: PROGRAMS.into(),
        faults: 0,
        violations: result
            .err()
            .map(|error| violation(error, seed))
            .into_iter()
            .collect(),
    }
}

fn violation(error: TestError<Program>, seed: u64) -> Violation {
    match error {
        TestError::Fail(reason, program) => Violation::new(
            Anomaly::UnlikeTheModel,
            seed,
            format!("{}{}", show::show(&program), reason.message()),
        ),
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
