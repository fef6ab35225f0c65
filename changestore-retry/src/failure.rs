//! Requests that failed, and what is known of them.

use std::borrow::Cow;

use changestore_core::{Error, ErrorKind};

/// A request that failed.
#[derive(Debug)]
pub struct Failure {
    /// What the caller is told, if it ends with this.
    pub error: Error,
    /// What became of the request.
    pub fate: Fate,
}

/// What became of a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Refused: it was not applied, and sending it again is of no use.
    Refused,
    /// It was not applied, and may be sent again.
    NotApplied,
    /// The reply is lost: nobody knows.
    Lost,
}

impl Failure {
    /// A request that failed in this way.
    #[must_use]
    pub fn new(error: Error, fate: Fate) -> Self {
        Self { error, fate }
    }

    /// Refused for good, with words that say what can be done about it.
    pub fn refused(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Error::new(kind).with_message(message), Fate::Refused)
    }

    /// Not applied.
    pub fn not_applied(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Error::new(kind).with_message(message), Fate::NotApplied)
    }

    /// The reply is lost.
    pub fn lost(message: impl Into<Cow<'static, str>>) -> Self {
        let error = Error::new(ErrorKind::Unavailable).with_message(message);
        Self::new(error, Fate::Lost)
    }

    /// No answer in the time that an attempt has.
    #[must_use]
    pub fn timed_out() -> Self {
        Self::lost("there was no answer in time")
    }
}
