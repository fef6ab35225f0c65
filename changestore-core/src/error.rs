//! The one error type: what failed, where, whether to try again, and whether it may have happened.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use crate::condition::Version;

/// A result with the workspace's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn StdError + Send + Sync + 'static>;

/// Why an operation failed. Match on it with a wildcard arm: kinds may be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing is stored at the key (or what was there has expired, which is the same).
    #[error("not found")]
    NotFound,
    /// The condition of a put or delete does not hold; nothing changed. Read again and decide anew.
    #[error("condition failed")]
    ConditionFailed,
    /// A claim's metadata was to be updated from a version that is not the stored one.
    #[error("version mismatch: the stored version is {stored}")]
    VersionMismatch {
        /// The version that is stored.
        stored: Version,
    },
    /// An argument that no backend accepts; nothing was sent.
    #[error("{field} is invalid: {reason}")]
    InvalidArgument {
        /// The argument's name.
        field: &'static str,
        /// What is wrong with it. Holds no payload.
        reason: Cow<'static, str>,
    },
    /// An argument over its portable limit ([`crate::limits`]); nothing was sent.
    #[error("{field} is too large: {actual} bytes, at most {limit} are allowed")]
    TooLarge {
        /// The argument's name.
        field: &'static str,
        /// The greatest legal length in bytes.
        limit: usize,
        /// The length in bytes.
        actual: usize,
    },
    /// A record was put where a live counter is, or a counter incremented where a live record is.
    #[error("wrong kind of key: it holds a {stored}")]
    WrongKind {
        /// What lives at the key.
        stored: RecordKind,
    },
    /// The backend cannot be reached, is shutting down, or did not answer in time.
    #[error("unavailable")]
    Unavailable,
    /// The backend asks for fewer requests.
    #[error("throttled")]
    Throttled,
    /// The credentials are missing, expired, or lack a right.
    #[error("permission denied")]
    PermissionDenied,
    /// What is stored cannot have been written by this library.
    #[error("corrupt data")]
    Corrupt,
    /// The store is set up wrongly: a missing table, an older schema, an unusable option.
    #[error("configuration")]
    Configuration,
    /// None of the above.
    #[error("failed")]
    Other,
}

/// The two kinds of thing that a [`Key`](crate::Key) can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// A record with data.
    Record,
    /// An atomic counter.
    Counter,
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Record => "record",
            Self::Counter => "counter",
        })
    }
}

/// What a failed write has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Nothing was changed.
    NotApplied,
    /// The reply was lost: the write may have happened, once and wholly, or not at all.
    Unknown,
}

/// The operation that failed, or that a failure is to be injected into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the method of that name")]
pub enum Operation {
    Create,
    GetByUri,
    UpdateMetadata,
    Get,
    Put,
    Delete,
    Query,
    Increment,
    /// Connecting to a store and checking its schema.
    Open,
    /// Creating or updating the schema.
    Migrate,
    /// Deleting what expired long ago. In no contract; adapters that need it have it.
    CollectExpired,
}

impl Operation {
    /// The method's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::GetByUri => "get_by_uri",
            Self::UpdateMetadata => "update_metadata",
            Self::Get => "get",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Query => "query",
            Self::Increment => "increment",
            Self::Open => "open",
            Self::Migrate => "migrate",
            Self::CollectExpired => "collect_expired",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of every operation of every backend.
///
/// [`kind`](Self::kind) says what failed, [`is_retryable`](Self::is_retryable) whether the same call
/// may succeed later, [`outcome`](Self::outcome) whether a write may have happened all the same.
/// The driver's own error is the [`source`](StdError::source) and is not repeated in `Display`.
/// Neither `Display` nor `Debug` prints a payload; keys are printed, escaped.
///
/// An adapter builds one from a kind and adds what it knows:
///
/// ```
/// use changestore_core::{Error, ErrorKind, Operation, Outcome};
/// let lost = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
/// let error = Error::new(ErrorKind::Unavailable)
///     .with_backend("postgres")
///     .with_operation(Operation::Put)
///     .with_key(r#"("JOB#EXPORT", "17")"#)
///     .with_message("the connection was lost")
///     .with_outcome(Outcome::Unknown)
///     .with_source(lost);
/// assert_eq!(
///     error.to_string(),
///     r#"postgres: put ("JOB#EXPORT", "17"): unavailable: the connection was lost; it may have been applied"#,
/// );
/// assert!(error.is_retryable());
/// assert_eq!(error.outcome(), Outcome::Unknown);
/// ```
pub struct Error(Box<Repr>);

struct Repr {
    kind: ErrorKind,
    outcome: Outcome,
    retryable: bool,
    backend: Option<&'static str>,
    operation: Option<Operation>,
    key: Option<String>,
    message: Option<Cow<'static, str>>,
    source: Option<Source>,
}

impl Error {
    /// An error of this kind: not applied, and retryable if the kind alone says so
    /// ([`Unavailable`](ErrorKind::Unavailable) and [`Throttled`](ErrorKind::Throttled) do).
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        let retryable = matches!(kind, ErrorKind::Unavailable | ErrorKind::Throttled);
        Self(Box::new(Repr {
            kind,
            outcome: Outcome::NotApplied,
            retryable,
            backend: None,
            operation: None,
            key: None,
            message: None,
            source: None,
        }))
    }

    /// An [`InvalidArgument`](ErrorKind::InvalidArgument): which one, and what is wrong with it.
    #[must_use]
    pub fn invalid_argument(field: &'static str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidArgument {
            field,
            reason: reason.into(),
        })
    }

    /// A [`TooLarge`](ErrorKind::TooLarge): which argument, the limit and the length in bytes.
    #[must_use]
    pub fn too_large(field: &'static str, limit: usize, actual: usize) -> Self {
        Self::new(ErrorKind::TooLarge {
            field,
            limit,
            actual,
        })
    }

    /// A [`Corrupt`](ErrorKind::Corrupt): what was found that cannot be. Name no payload.
    #[must_use]
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corrupt).with_message(message)
    }

    /// The error of [`DocumentStore::increment`](crate::DocumentStore::increment) for a sum outside
    /// of `i64`: an [`InvalidArgument`](ErrorKind::InvalidArgument) of `delta`.
    #[must_use]
    pub fn counter_overflow(delta: i64) -> Self {
        Self::invalid_argument(
            "delta",
            format!("adding {delta} takes the counter out of the 64-bit range"),
        )
    }

    /// Names the backend, such as `sqlite`.
    #[must_use]
    pub fn with_backend(mut self, backend: &'static str) -> Self {
        self.0.backend = Some(backend);
        self
    }

    /// Names the operation.
    #[must_use]
    pub fn with_operation(mut self, operation: Operation) -> Self {
        self.0.operation = Some(operation);
        self
    }

    /// Names the key; pass the key itself, whose `Display` quotes and escapes.
    #[must_use]
    pub fn with_key(mut self, key: impl fmt::Display) -> Self {
        self.0.key = Some(key.to_string());
        self
    }

    /// Adds what helps: what to do, which table, which limit. Never a payload or a secret.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = Some(message.into());
        self
    }

    /// Keeps the driver's error as the source.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says whether a write may have happened.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// Overrides what the kind alone says of trying again (a deadlock is `Other` and retryable).
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// What failed.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Whether the same call may succeed later without a change by the caller. Where the
    /// [`outcome`](Self::outcome) is unknown, an idempotent call can simply be repeated; an increment
    /// cannot, it could count twice.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the write may have happened all the same.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The backend, where the error came from one; none where an argument was refused before.
    #[must_use]
    pub fn backend(&self) -> Option<&'static str> {
        self.0.backend
    }

    /// The operation, if known.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.0.operation
    }

    /// The key as printed, if the operation had one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// What the adapter added in words.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// Whether this is [`NotFound`](ErrorKind::NotFound).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.kind == ErrorKind::NotFound
    }

    /// Whether this is [`ConditionFailed`](ErrorKind::ConditionFailed).
    #[must_use]
    pub fn is_condition_failed(&self) -> bool {
        self.0.kind == ErrorKind::ConditionFailed
    }

    /// The stored version that a [`VersionMismatch`](ErrorKind::VersionMismatch) carries.
    #[must_use]
    pub fn stored_version(&self) -> Option<Version> {
        match self.0.kind {
            ErrorKind::VersionMismatch { stored } => Some(stored),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repr = &self.0;
        if let Some(backend) = repr.backend {
            write!(f, "{backend}: ")?;
        }
        match (&repr.operation, &repr.key) {
            (Some(operation), Some(key)) => write!(f, "{operation} {key}: ")?,
            (Some(operation), None) => write!(f, "{operation}: ")?,
            (None, Some(key)) => write!(f, "{key}: ")?,
            (None, None) => {}
        }
        write!(f, "{}", repr.kind)?;
        if let Some(message) = &repr.message {
            write!(f, ": {message}")?;
        }
        if repr.outcome == Outcome::Unknown {
            f.write_str("; it may have been applied")?;
        }
        Ok(())
    }
}

/// Prints the source's `Display`, not its `Debug`: drivers put the failing row into the latter.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repr = &self.0;
        f.debug_struct("Error")
            .field("kind", &repr.kind)
            .field("outcome", &repr.outcome)
            .field("retryable", &repr.retryable)
            .field("backend", &repr.backend)
            .field("operation", &repr.operation)
            .field("key", &repr.key)
            .field("message", &repr.message)
            .field("source", &repr.source.as_ref().map(ToString::to_string))
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_deref();
        source.map(|source| source as &(dyn StdError + 'static))
    }
}
