//! Runs one test on one backend.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use futures::FutureExt as _;
use tokio::runtime::Runtime;

use super::report::{self, TestReport};
use super::{Anomaly, Settings, Tally, Violation};
use crate::Harness;

/// The others are mostly of the same kind.
const MOST_SHOWN: usize = 5;

/// Runs the test as the environment says, reports, and panics with what it has found.
pub fn run_test<H: Harness>(harness: &H, test: &str, check: impl FnOnce(&H, Settings) -> Tally) {
    let settings = Settings::from_env();
    let began = Instant::now();
    // A panic of the store's is a result; one of the harness's, too, for there is no other.
    let tally = catch_unwind(AssertUnwindSafe(|| check(harness, settings)));
    let tally = tally.unwrap_or_else(|panic| Tally {
        violations: vec![panicked(&*panic, settings.seed)],
        ..Tally::default()
    });
    if report::is_wanted() {
        let engine = runtime().block_on(AssertUnwindSafe(harness.engine()).catch_unwind());
        let mut report = TestReport {
            backend: harness.backend().to_owned(),
            engine: engine.unwrap_or_else(|_| "unreachable".to_owned()),
            test: test.to_owned(),
            seed: settings.seed,
            millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            operations: 0,
            histories: 0,
            faults: 0,
            crashes: 0,
            lost: 0,
            wrong: 0,
            panics: 0,
        };
        report.count(&tally);
        report::append(&report);
    }
    let violations = &tally.violations;
    let shown = violations.iter().take(MOST_SHOWN);
    assert!(
        violations.is_empty(),
        "{test} on {}: {} violations; {}=SEED runs the round again\n\n{}",
        harness.backend(),
        violations.len(),
        Settings::SEED_VARIABLE,
        shown
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n\n")
    );
}

/// Several threads, or the clients would race nothing.
pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The violation that a panic is.
pub(super) fn panicked(panic: &(dyn Any + Send), seed: u64) -> Violation {
    Violation::new(Anomaly::Panic, seed, panic_text(panic))
}

/// What a panic says.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without words")
}
