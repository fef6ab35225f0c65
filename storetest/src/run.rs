//! Runs one case on one backend.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::{Duration, Instant};

use changestore_core::{ManualClock, Timestamp};
use futures::FutureExt;

use crate::cases::CaseName;
use crate::harness::{Fixture, Harness};
use crate::report::{self, CaseReport};

/// 2026-11-30T00:00:00Z: where every case's clock starts.
pub(crate) const START_MILLIS: i64 = 1_795_996_800_000;

/// A case that takes longer hangs: on a lock that a dropped future has kept, or in a retry loop. It
/// fails by its name then, where it would have stopped the whole run.
const LONGEST: Duration = Duration::from_mins(5);

/// Opens a fixture, runs the body, cleans up, reports, and then lets a panic go on.
pub fn run_case<S>(
    harness: &dyn Harness,
    name: CaseName,
    open: impl AsyncFnOnce(&str, ManualClock) -> Fixture<S>,
    body: impl AsyncFnOnce(&Fixture<S>),
) where
    S: ?Sized + 'static,
{
    // Several threads, or the cases about races would race nothing.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a runtime");
    let clock = ManualClock::new(Timestamp::from_millis(START_MILLIS).expect("in range"));
    // Unique over processes that share a server.
    let namespace = format!("t{}", uuid::Uuid::new_v4().simple());
    let started = Instant::now();
    let result = runtime.block_on(async {
        let opened = AssertUnwindSafe(open(&namespace, clock))
            .catch_unwind()
            .await;
        let mut fixture = opened?;
        let body = async {
            let ended = tokio::time::timeout(LONGEST, body(&fixture)).await;
            ended.unwrap_or_else(|_| panic!("{name} has not ended in {LONGEST:?}"));
        };
        let result = AssertUnwindSafe(body).catch_unwind().await;
        if let Some(cleanup) = fixture.take_cleanup() {
            cleanup.await;
        }
        result
    });
    let took = started.elapsed();
    if report::is_wanted() {
        let engine = runtime.block_on(AssertUnwindSafe(harness.engine()).catch_unwind());
        report::append(&CaseReport {
            backend: harness.backend().to_owned(),
            engine: engine.unwrap_or_else(|_| "unreachable".to_owned()),
            contract: name.contract.to_owned(),
            case: name.to_string(),
            passed: result.is_ok(),
            millis: took.as_secs_f64() * 1e3,
        });
    }
    if let Err(panic) = result {
        resume_unwind(panic);
    }
}
