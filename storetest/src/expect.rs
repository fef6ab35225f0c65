//! Failures as the contract has them: the kind exactly, not applied, and not to be repeated.

use std::error::Error as _;
use std::fmt;

use changestore_core::{Error, ErrorKind, Limit, Operation, Outcome, RecordKind, Result, Version};

#[track_caller]
fn fails<T: fmt::Debug>(result: Result<T>) -> Error {
    let error = match result {
        Ok(value) => panic!("this must fail, and has returned {value:?}"),
        Err(error) => error,
    };
    assert_eq!(
        error.outcome(),
        Outcome::NotApplied,
        "the store knows that nothing happened: {error:?}"
    );
    assert!(
        !error.is_retryable(),
        "the same call would fail again: {error:?}"
    );
    error
}

#[track_caller]
fn fails_with<T: fmt::Debug>(result: Result<T>, kind: &ErrorKind) -> Error {
    let error = fails(result);
    assert_eq!(error.kind(), kind, "{error:?}");
    error
}

#[track_caller]
pub(crate) fn not_found<T: fmt::Debug>(result: Result<T>) -> Error {
    fails_with(result, &ErrorKind::NotFound)
}

#[track_caller]
pub(crate) fn condition_failed<T: fmt::Debug>(result: Result<T>) -> Error {
    fails_with(result, &ErrorKind::ConditionFailed)
}

#[track_caller]
pub(crate) fn version_mismatch<T: fmt::Debug>(result: Result<T>, stored: Version) -> Error {
    fails_with(result, &ErrorKind::VersionMismatch { stored })
}

#[track_caller]
pub(crate) fn wrong_kind<T: fmt::Debug>(result: Result<T>, stored: RecordKind) -> Error {
    fails_with(result, &ErrorKind::WrongKind { stored })
}

#[track_caller]
pub(crate) fn invalid<T: fmt::Debug>(result: Result<T>, wanted: &str) -> Error {
    let error = fails(result);
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { field, .. } if *field == wanted),
        "expected {wanted} to be an invalid argument: {error:?}"
    );
    error
}

#[track_caller]
pub(crate) fn too_large<T: fmt::Debug>(result: Result<T>, limit: Limit, actual: usize) -> Error {
    too_large_field(result, limit.field(), limit.max_bytes(), actual)
}

#[track_caller]
pub(crate) fn too_large_field<T: fmt::Debug>(
    result: Result<T>,
    field: &'static str,
    limit: usize,
    actual: usize,
) -> Error {
    let kind = ErrorKind::TooLarge {
        field,
        limit,
        actual,
    };
    fails_with(result, &kind)
}

/// A failure that came from the store says which backend, which operation and which key.
#[track_caller]
pub(crate) fn names(error: &Error, operation: Operation, key: &impl fmt::Display) {
    assert!(error.backend().is_some(), "no backend: {error:?}");
    assert_eq!(error.operation(), Some(operation), "{error:?}");
    assert_eq!(error.key(), Some(&*key.to_string()), "{error:?}");
}

/// Neither an error nor what it wraps prints the secret.
#[track_caller]
pub(crate) fn keeps_secret(error: &Error, secret: &str) {
    let mut printed = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(inner) = source {
        printed.push_str(&inner.to_string());
        source = inner.source();
    }
    assert!(!printed.contains(secret), "a payload in {printed}");
}
