//! Classification: what each of redb's errors means for a caller.

use std::io;

use changestore_core::{Error, ErrorKind, Outcome};
use tokio::task::JoinError;

/// Why a transaction's work ended: the contract's own errors and redb's, so that `?` takes both.
pub(crate) struct Failure(Error);

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        self.0
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self(Error::new(kind))
    }
}

macro_rules! not_applied {
    ($($type:ident),*) => {$(
        impl From<redb::$type> for Failure {
            fn from(error: redb::$type) -> Self {
                Self(classify(error.into()))
            }
        }
    )*};
}

// Before the commit nothing is written, whatever fails.
not_applied!(DatabaseError, StorageError, TableError, TransactionError);

impl From<redb::CommitError> for Failure {
    fn from(error: redb::CommitError) -> Self {
        // The commit may have reached the disk before what failed.
        Self(classify(error.into()).with_outcome(Outcome::Unknown))
    }
}

fn classify(error: redb::Error) -> Error {
    use redb::Error as Redb;
    let (kind, retryable) = match &error {
        Redb::DatabaseAlreadyOpen => (ErrorKind::Unavailable, true),
        // After an I/O error redb refuses everything until the file is opened anew, so the same call
        // on the same store will not succeed.
        Redb::Io(error) => (classify_io(error.kind()), false),
        Redb::Backend(_) | Redb::PreviousIo | Redb::DatabaseClosed => {
            (ErrorKind::Unavailable, false)
        }
        Redb::Corrupted(_) => (ErrorKind::Corrupt, false),
        // Another program's tables, or another format of the file.
        Redb::TableTypeMismatch { .. }
        | Redb::TypeDefinitionChanged { .. }
        | Redb::TableIsMultimap(_)
        | Redb::TableDoesNotExist(_)
        | Redb::UpgradeRequired(_)
        | Redb::LockProtocolMismatch
        | Redb::Unsupported => (ErrorKind::Configuration, false),
        _ => (ErrorKind::Other, false),
    };
    // redb's messages name tables, types and sizes and hold no payload.
    Error::new(kind)
        .with_retryable(retryable)
        .with_source(error)
}

fn classify_io(kind: io::ErrorKind) -> ErrorKind {
    match kind {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorKind::PermissionDenied
        }
        // The folder is missing, or the path names one.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
            ErrorKind::Configuration
        }
        // How redb says that the file is none of its own.
        io::ErrorKind::InvalidData => ErrorKind::Corrupt,
        _ => ErrorKind::Unavailable,
    }
}

/// A value that this crate cannot have written: the core's types refuse it.
pub(crate) fn corrupt(refused: Error) -> Error {
    Error::corrupt("a stored value is refused").with_source(refused)
}

/// The error of a blocking task that gave no result.
pub(crate) fn of_a_task(error: JoinError) -> Error {
    if error.is_cancelled() {
        // A blocking task is cancelled only before it starts.
        return Error::new(ErrorKind::Unavailable)
            .with_message("the runtime is shutting down")
            .with_source(error);
    }
    // The engine may panic on a damaged page. The caller gets an error, and its task lives on. The
    // panic's text is left to the panic hook, for it may quote what was read.
    Error::new(ErrorKind::Other)
        .with_message("redb panicked")
        .with_outcome(Outcome::Unknown)
}
