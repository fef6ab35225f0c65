//! What all clients of a history did, key by key, and whether it can be explained.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use changestore_core::{Clock as _, Error, ErrorKind, ManualClock, Outcome, Timestamp};
use tokio::sync::Mutex;

use super::call::{Call, NEVER, Spec};
use super::checker::{self, Stuck, Verdict};
use crate::torture::{Anomaly, Tally, Violation};

/// The record of a history.
#[derive(Debug)]
pub(crate) struct Journal<K, S: Spec> {
    clock: ManualClock,
    /// Tells this history's data from those of another.
    name: u64,
    seed: u64,
    /// Counts beginnings and ends: what ended before something else began has the lower number, whatever a clock says.
    order: AtomicU64,
    writes: AtomicU64,
    operations: AtomicU64,
    seen: Mutex<Seen<K, S>>,
}

#[derive(Debug)]
struct Seen<K, S: Spec> {
    calls: BTreeMap<K, Vec<Call<S>>>,
    violations: Vec<Violation>,
    /// The first call that failed, and for no reason of the contract's.
    failure: Option<String>,
}

/// A call that is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    invoked: u64,
    from: Timestamp,
}

/// A call that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    begun: Begun,
    returned: u64,
    to: Timestamp,
}

impl<K: Ord + std::fmt::Debug, S: Spec> Journal<K, S> {
    pub(crate) fn new(clock: ManualClock, seed: u64) -> Self {
        static HISTORIES: AtomicU64 = AtomicU64::new(0);
        Self {
            clock,
            name: HISTORIES.fetch_add(1, Ordering::Relaxed),
            seed,
            order: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            seen: Mutex::new(Seen {
                calls: BTreeMap::new(),
                violations: Vec::new(),
                failure: None,
            }),
        }
    }

    pub(crate) fn clock(&self) -> &ManualClock {
        &self.clock
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A number that no other write of this history has.
    pub(crate) fn new_write(&self) -> u64 {
        self.writes.fetch_add(1, Ordering::SeqCst)
    }

    /// What a write stores, so that a read knows which write it sees.
    pub(crate) fn data_of(&self, write: u64) -> String {
        format!("{}.{write}", self.name)
    }

    /// The write that has stored this, if it is one of this history.
    pub(crate) fn write_of(&self, data: &[u8]) -> Option<u64> {
        let (name, write) = std::str::from_utf8(data).ok()?.split_once('.')?;
        let write = write.parse().ok()?;
        let is_ours = name.parse() == Ok(self.name) && write < self.writes.load(Ordering::SeqCst);
        is_ours.then_some(write)
    }

    pub(crate) fn begin(&self) -> Begun {
        // The clock first: it may only seem to have shown an earlier time.
        let from = self.now();
        let invoked = self.order.fetch_add(1, Ordering::SeqCst);
        Begun { invoked, from }
    }

    pub(crate) fn end(&self, begun: Begun) -> Ended {
        let returned = self.order.fetch_add(1, Ordering::SeqCst);
        self.operations.fetch_add(1, Ordering::Relaxed);
        Ended {
            begun,
            returned,
            to: self.now(),
        }
    }

    /// Writes a call down; without an answer its outcome is unknown.
    pub(crate) async fn write_down(
        &self,
        client: usize,
        ended: Ended,
        key: K,
        action: S::Action,
        answer: Option<S::Answer>,
    ) {
        let call = Call {
            client,
            invoked: ended.begun.invoked,
            returned: if answer.is_some() {
                ended.returned
            } else {
                NEVER
            },
            from: ended.begun.from,
            to: ended.to,
            action,
            answer,
        };
        let mut seen = self.seen.lock().await;
        seen.calls.entry(key).or_default().push(call);
    }

    /// Writes down that a call failed for no reason of the contract's.
    pub(crate) async fn failed(&self, error: &Error) {
        self.seen
            .lock()
            .await
            .failure
            .get_or_insert_with(|| format!("{error:?}"));
    }

    /// Such a failure is a violation from now on, and so is one that was before.
    pub(crate) async fn must_not_have_failed(&self) {
        let failure = self.seen.lock().await.failure.take();
        if let Some(shown) = failure {
            self.violation(Anomaly::Unhealthy, shown).await;
        }
    }

    /// Such failures are forgotten: they were meant.
    pub(crate) async fn may_have_failed(&self) {
        self.seen.lock().await.failure = None;
    }

    /// Writes down what is wrong whatever else happened.
    pub(crate) async fn violation(&self, anomaly: Anomaly, shown: impl Into<String>) {
        let violation = Violation::new(anomaly, self.seed, shown);
        self.seen.lock().await.violations.push(violation);
    }

    /// Looks for an explanation of every key's calls.
    pub(crate) async fn judge(&self) -> Tally {
        let seen = self.seen.lock().await;
        let mut violations = seen.violations.clone();
        for (key, calls) in &seen.calls {
            let mut calls = calls.clone();
            calls.sort_by_key(|call| call.invoked);
            violations.extend(explain(&format!("{key:?}"), &calls, self.seed));
        }
        Tally {
            operations: self.operations.load(Ordering::Relaxed),
            histories: 1,
            faults: 0,
            crashes: 0,
            violations,
        }
    }
}

/// None if the calls are in order. Otherwise the mistakes that would explain them.
pub(crate) fn explain<S: Spec>(key: &str, calls: &[Call<S>], seed: u64) -> Option<Violation> {
    let stuck = match checker::check(calls, None) {
        Verdict::Linearizable => return None,
        Verdict::Not(stuck) => stuck,
        Verdict::Undecided => {
            let shown = format!("{key}: {} calls", calls.len());
            return Some(Violation::new(Anomaly::Undecided, seed, shown));
        }
    };
    let explains =
        |mistake: &Anomaly| matches!(checker::check(calls, Some(*mistake)), Verdict::Linearizable);
    let mut anomalies: Vec<_> = S::MISTAKES.iter().copied().filter(explains).collect();
    if anomalies.is_empty() {
        anomalies.push(Anomaly::NotLinearizable);
    }
    Some(Violation {
        anomalies,
        seed,
        shown: show(key, calls, &stuck),
    })
}

/// The end of the longest order, and what does not fit behind it.
fn show<S: Spec>(key: &str, calls: &[Call<S>], stuck: &Stuck<S>) -> String {
    const SHOWN: usize = 12;
    let mut text = format!(
        "{key}: of {} calls {} can be ordered, the last of them so:\n",
        calls.len(),
        stuck.explained.len()
    );
    let last = stuck.explained.len().saturating_sub(SHOWN);
    for call in &stuck.explained[last..] {
        let _ = writeln!(text, "  {}", show_call(&calls[*call]));
    }
    let _ = writeln!(
        text,
        "then {:?} is stored, and none of these fits:",
        stuck.state
    );
    for call in &stuck.next {
        let _ = writeln!(text, "  {}", show_call(&calls[*call]));
    }
    text
}

fn show_call<S: Spec>(call: &Call<S>) -> String {
    let returned = match call.returned {
        NEVER => "?".to_owned(),
        returned => returned.to_string(),
    };
    let answer = match &call.answer {
        Some(answer) => format!("{answer:?}"),
        None => "unknown".to_owned(),
    };
    format!(
        "[{}..{returned}] client {} at {}..{}: {:?} -> {answer}",
        call.invoked, call.client, call.from, call.to, call.action
    )
}

/// Whether a call failed for a reason of the contract's, and not because something was in its way.
pub(crate) fn is_an_answer(error: &Error) -> bool {
    let is_an_answer = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::ConditionFailed
            | ErrorKind::VersionMismatch { .. }
            | ErrorKind::WrongKind { .. }
    );
    is_an_answer && error.outcome() == Outcome::NotApplied
}
