//! What a call on a spoiled row came to, and what no call may come to.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use changestore_core::{Error, ErrorKind, Operation, Outcome, Result};
use futures::FutureExt as _;

use super::Tally;

/// Longer than any operation may take where nothing is in its way but a spoiled row.
const LONGEST: Duration = Duration::from_secs(20);

/// Where a check is: what its failure says.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) seed: u64,
    pub(super) what: &'a dyn fmt::Debug,
}

impl Place<'_> {
    /// Does a call: it must end, and not by a panic.
    pub(super) async fn call<T>(
        &self,
        tally: &mut Tally,
        operation: Operation,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tally.operations += 1;
        let ended = tokio::time::timeout(LONGEST, AssertUnwindSafe(call).catch_unwind()).await;
        let ended =
            ended.unwrap_or_else(|_| panic!("{operation} has not ended in {LONGEST:?} {self}"));
        let result = ended.unwrap_or_else(|_| panic!("{operation} panicked {self}"));
        if let Err(error) = &result {
            self.check_error(operation, error);
            tally.corrupt += usize::from(is_corrupt(error));
        }
        result
    }

    /// Refusals are refusals: they name everything, and nothing was applied.
    fn check_error(&self, operation: Operation, error: &Error) {
        assert!(
            error.backend().is_some(),
            "{error:?} names no backend {self}"
        );
        assert_eq!(error.operation(), Some(operation), "{error:?} {self}");
        assert!(error.key().is_some(), "{error:?} names no key {self}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?} {self}");
        assert!(!error.is_retryable(), "{error:?} {self}");
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Corrupt
                    | ErrorKind::NotFound
                    | ErrorKind::ConditionFailed
                    | ErrorKind::VersionMismatch { .. }
                    | ErrorKind::WrongKind { .. }
                    | ErrorKind::InvalidArgument { .. }
            ),
            "{error:?} {self}"
        );
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(seed {}: {:?})", self.seed, self.what)
    }
}

pub(super) fn is_corrupt(error: &Error) -> bool {
    *error.kind() == ErrorKind::Corrupt
}
