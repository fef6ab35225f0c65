//! One store, and rounds on it until the time is over or something is found.

use std::panic::AssertUnwindSafe;

use changestore_core::{ManualClock, Timestamp};
use futures::FutureExt as _;

use super::run::{panicked, runtime};
use super::{Settings, Tally};
use crate::harness::Fixture;
use crate::run::START_MILLIS;

/// What was opened and is to be cleaned up.
pub(super) trait Opened {
    async fn clean_up(&mut self);
}

impl<S: ?Sized> Opened for Fixture<S> {
    async fn clean_up(&mut self) {
        if let Some(cleanup) = self.take_cleanup() {
            cleanup.await;
        }
    }
}

impl<A: Opened, B: Opened> Opened for (A, B) {
    async fn clean_up(&mut self) {
        self.0.clean_up().await;
        self.1.clean_up().await;
    }
}

impl<O: Opened> Opened for Vec<O> {
    async fn clean_up(&mut self) {
        for opened in self {
            opened.clean_up().await;
        }
    }
}

/// Opens a fixture, runs the rounds on it, and cleans up. A round that panics is a violation.
#[allow(
    clippy::needless_pass_by_value,
    reason = "closures are written where they are passed"
)]
pub(super) fn rounds<F: Opened>(
    settings: Settings,
    open: impl AsyncFnOnce(&str, ManualClock) -> F,
    round: impl AsyncFn(&F, u64) -> Tally,
) -> Tally {
    let clock = ManualClock::new(Timestamp::from_millis(START_MILLIS).expect("in range"));
    let namespace = format!("t{}", uuid::Uuid::new_v4().simple());
    runtime().block_on(async {
        let mut fixture = open(&namespace, clock).await;
        let mut tally = Tally::default();
        for seed in settings.rounds() {
            match AssertUnwindSafe(round(&fixture, seed)).catch_unwind().await {
                Ok(of_round) => tally += of_round,
                Err(panic) => tally.violations.push(panicked(&*panic, seed)),
            }
            if !tally.violations.is_empty() {
                break;
            }
        }
        let cleaned_up = AssertUnwindSafe(fixture.clean_up()).catch_unwind().await;
        // What was found before is the reason, more likely.
        if let (Err(panic), []) = (cleaned_up, tally.violations.as_slice()) {
            tally.violations.push(panicked(&*panic, settings.seed));
        }
        tally
    })
}
