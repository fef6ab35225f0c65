//! Failures on demand, for the tests of code that uses a store.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

use changestore_core::{Error, ErrorKind, Operation, Outcome};
use parking_lot::Mutex;

use crate::{BACKEND, MemStore};

/// How one call is to fail.
///
/// A lost reply is the failure that programs forget: the write happened, and the caller is told that
/// it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    kind: ErrorKind,
    outcome: Outcome,
    applied: bool,
}

impl Failure {
    /// The call changes nothing and says so.
    #[must_use]
    pub fn not_applied(kind: ErrorKind) -> Self {
        Self {
            kind,
            outcome: Outcome::NotApplied,
            applied: false,
        }
    }

    /// The call changes nothing, but cannot say so: its outcome is unknown.
    #[must_use]
    pub fn request_lost(kind: ErrorKind) -> Self {
        Self {
            kind,
            outcome: Outcome::Unknown,
            applied: false,
        }
    }

    /// The call does what it does (which may fail by itself), but its reply is lost: the outcome is
    /// unknown.
    #[must_use]
    pub fn reply_lost(kind: ErrorKind) -> Self {
        Self {
            kind,
            outcome: Outcome::Unknown,
            applied: true,
        }
    }

    /// Whether the call is carried out all the same.
    pub(crate) fn is_applied(&self) -> bool {
        self.applied
    }

    pub(crate) fn into_error(self, operation: Operation) -> Error {
        Error::new(self.kind)
            .with_backend(BACKEND)
            .with_operation(operation)
            .with_outcome(self.outcome)
            .with_message("a failure that the test asked for")
    }
}

/// The failures that are still to come, per operation.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    pending: AtomicUsize,
    queues: Mutex<HashMap<Operation, VecDeque<Failure>>>,
}

impl Failures {
    fn push(&self, operation: Operation, failure: Failure) {
        let mut queues = self.queues.lock();
        queues.entry(operation).or_default().push_back(failure);
        self.pending.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn next(&self, operation: Operation) -> Option<Failure> {
        // Stores without planned failures do not pay for the lock.
        if self.pending.load(Ordering::Acquire) == 0 {
            return None;
        }
        let failure = self.queues.lock().get_mut(&operation)?.pop_front()?;
        self.pending.fetch_sub(1, Ordering::Release);
        Some(failure)
    }
}

impl MemStore {
    /// Makes the next call of the operation fail; further calls of this method plan the failures of
    /// the calls after it. A query fails when its stream is first polled.
    ///
    /// ```
    /// use changestore_core::{ErrorKind, Key, Operation, Outcome, DocumentStore};
    /// use store_mem::{Failure, MemStore};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let store = MemStore::new();
    /// let hits = Key::new("RATE#10.0.0.1", "12:00")?;
    /// store.fail_next(Operation::Increment, Failure::reply_lost(ErrorKind::Unavailable));
    ///
    /// let error = store.increment(&hits, 1, None).await.unwrap_err();
    /// assert_eq!(error.outcome(), Outcome::Unknown);
    /// assert_eq!(store.increment(&hits, 0, None).await?, 1); // it was counted
    /// # Ok::<(), changestore_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn fail_next(&self, operation: Operation, failure: Failure) {
        self.shared.failures.push(operation, failure);
    }

    /// Runs an operation, or its planned failure, or both.
    pub(crate) fn run<T>(
        &self,
        operation: Operation,
        body: impl FnOnce() -> changestore_core::Result<T>,
    ) -> changestore_core::Result<T> {
        let Some(failure) = self.shared.failures.next(operation) else {
            return body().map_err(|error| error.with_backend(BACKEND).with_operation(operation));
        };
        if failure.is_applied() {
            // Its result is what is lost.
            let _ = body();
        }
        Err(failure.into_error(operation))
    }
}
