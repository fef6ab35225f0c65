//! From sqlx's errors to the contract's: kind, whether to try again, and words that help.
//!
//! What a driver reports is the same for every engine and stands here; what the engine's own codes
//! mean is the [`Dialect`]'s.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use changestore_core::{Error, ErrorKind};
use sqlx::error::DatabaseError;

/// An engine's name, and what its error codes mean.
#[derive(Debug)]
pub(crate) struct Dialect {
    pub(crate) backend: &'static str,
    pub(crate) meaning: fn(&dyn DatabaseError) -> Meaning,
}

/// What an error comes down to.
#[derive(Debug, Clone)]
pub(crate) struct Meaning {
    pub(crate) kind: ErrorKind,
    pub(crate) retryable: bool,
    pub(crate) message: Option<Cow<'static, str>>,
}

impl Meaning {
    /// Retryable if the kind alone says so.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            retryable: matches!(kind, ErrorKind::Unavailable | ErrorKind::Throttled),
            kind,
            message: Some(message.into()),
        }
    }

    /// Where the driver's own words, which are the source, say it all.
    pub(crate) fn plain(kind: ErrorKind) -> Self {
        Self {
            message: None,
            ..Self::new(kind, "")
        }
    }
}

/// An engine's failure that can be told to several callers: those of one transaction share it.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    backend: &'static str,
    meaning: Meaning,
    source: Driver,
}

impl Cause {
    pub(crate) fn new(error: sqlx::Error, dialect: &Dialect) -> Self {
        let meaning = match &error {
            sqlx::Error::Database(error) => (dialect.meaning)(error.as_ref()),
            other => meaning(other),
        };
        Self {
            backend: dialect.backend,
            meaning,
            source: Driver(Arc::new(error)),
        }
    }

    /// Whether trying again may help.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn is_retryable(&self) -> bool {
        self.meaning.retryable
    }

    /// Whether the server has too much to do, or no connection to spare.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn is_throttled(&self) -> bool {
        self.meaning.kind == ErrorKind::Throttled
    }

    /// The error for one caller; nothing was applied unless it is said otherwise.
    pub(crate) fn to_error(&self) -> Error {
        let Meaning {
            kind,
            retryable,
            message,
        } = self.meaning.clone();
        let error = Error::new(kind)
            .with_retryable(retryable)
            .with_backend(self.backend)
            .with_source(self.source.clone());
        match message {
            Some(message) => error.with_message(message),
            None => error,
        }
    }
}

/// The driver's error, as the source of ours.
///
/// sqlx's `Display` repeats its own source, and a chain that is printed would say everything twice. So the
/// chain goes on behind that source.
#[derive(Debug, Clone)]
pub(crate) struct Driver(Arc<sqlx::Error>);

impl Driver {
    /// What the driver reported, if that is what an error comes from.
    #[cfg(any(test, feature = "sqlite"))]
    pub(crate) fn of(error: &Error) -> Option<&sqlx::Error> {
        let source = error.source()?.downcast_ref::<Self>()?;
        Some(&source.0)
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Driver {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        (*self.0).source().and_then(StdError::source)
    }
}

/// What an error of the driver itself means.
fn meaning(error: &sqlx::Error) -> Meaning {
    match error {
        sqlx::Error::Configuration(_) | sqlx::Error::InvalidArgument(_) => {
            Meaning::plain(ErrorKind::Configuration)
        }
        sqlx::Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Meaning::plain(ErrorKind::PermissionDenied)
        }
        sqlx::Error::Io(_) => Meaning::plain(ErrorKind::Unavailable),
        sqlx::Error::PoolTimedOut => Meaning::new(
            ErrorKind::Unavailable,
            "no connection of the pool became free in time",
        ),
        sqlx::Error::PoolClosed => Meaning {
            retryable: false,
            ..Meaning::new(ErrorKind::Unavailable, "the pool is closed")
        },
        sqlx::Error::WorkerCrashed => {
            Meaning::new(ErrorKind::Unavailable, "the connection was lost")
        }
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::Decode(_)
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. } => {
            Meaning::new(ErrorKind::Corrupt, "a stored value has another type")
        }
        _ => Meaning::plain(ErrorKind::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Dialect = Dialect {
        backend: "test",
        meaning: |_| Meaning::plain(ErrorKind::Other),
    };

    #[test]
    fn a_chain_says_each_thing_once() {
        for error in [
            sqlx::Error::Io(io::Error::other("the disk broke")),
            sqlx::Error::Decode("the disk broke".into()),
            sqlx::Error::Configuration("the disk broke".into()),
        ] {
            let error = Cause::new(error, &NONE).to_error();
            let chain: Vec<String> =
                std::iter::successors(Some(&error as &dyn StdError), |error| (**error).source())
                    .map(ToString::to_string)
                    .collect();
            let times = chain
                .iter()
                .filter(|words| words.contains("the disk broke"));
            assert_eq!(times.count(), 1, "{chain:?}");
            assert!(Driver::of(&error).is_some());
        }
    }
}
