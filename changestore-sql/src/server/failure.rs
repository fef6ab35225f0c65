//! Why an operation failed, in a form that several callers can be told.

use std::time::Duration;

use changestore_core::{Error, ErrorKind, Outcome};

use crate::flow::classify::Cause;

/// Why an operation failed.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// No connection could be made. Nothing was applied.
    Unreachable(Cause),
    /// The server refused the statement. Nothing was applied.
    Refused(Cause),
    /// Others were in the way until the time was over. Nothing was applied.
    Conflict(Cause),
    /// The connection was lost after the statement was sent.
    Lost(Cause),
    /// The time was over. Whether the statement had been sent.
    TimedOut { after: Duration, was_sent: bool },
}

impl Failure {
    /// The error of a write's caller.
    pub(super) fn of_a_write(&self) -> Error {
        match self {
            Self::Lost(cause) => cause
                .to_error()
                .with_outcome(Outcome::Unknown)
                .with_message("the connection was lost after the statement was sent"),
            Self::TimedOut {
                after,
                was_sent: true,
            } => self
                .of_a_read()
                .with_outcome(Outcome::Unknown)
                .with_message(format!("the server has not answered within {after:?}")),
            _ => self.of_a_read(),
        }
    }

    /// The error of a read's caller.
    pub(super) fn of_a_read(&self) -> Error {
        match self {
            Self::Unreachable(cause) | Self::Refused(cause) | Self::Lost(cause) => cause.to_error(),
            Self::Conflict(cause) => cause.to_error().with_message(
                "other transactions were in the way for longer than the operation timeout",
            ),
            Self::TimedOut { after, was_sent } => {
                let what = if *was_sent {
                    "the server has not answered"
                } else {
                    "no connection became free"
                };
                Error::new(ErrorKind::Unavailable).with_message(format!("{what} within {after:?}"))
            }
        }
    }
}
