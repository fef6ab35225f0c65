//! From gRPC's statuses to the contract's errors: kind, words that help, and whether the request may have been
//! applied.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use changestore_core::{Error, ErrorKind};
use changestore_retry::Fate;
use google_cloud_auth::errors::CredentialsError;
use tonic::{Code, ConnectError, Status};

use crate::merge::Malformed;

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) fate: Fate,
    /// What the server answered, if it did.
    pub(crate) code: Option<Code>,
}

/// One that the server did not answer.
impl From<changestore_retry::Failure> for Failure {
    fn from(failure: changestore_retry::Failure) -> Self {
        Self {
            error: failure.error,
            fate: failure.fate,
            code: None,
        }
    }
}

impl From<Failure> for changestore_retry::Failure {
    fn from(failure: Failure) -> Self {
        Self::new(failure.error, failure.fate)
    }
}

/// A stream that ended within a row.
pub(crate) fn cut_short() -> Failure {
    lost("the answer ended within a row")
}

/// A stream that is none of this API's.
pub(crate) fn malformed(malformed: Malformed) -> Failure {
    let Malformed(why) = malformed;
    lost("the answer is not Bigtable's").caused_by(Reported(why.to_owned()))
}

pub(crate) fn classify(status: &Status) -> Failure {
    let mut failure = meaning(status).caused_by(Reported::by(status));
    failure.code = Some(status.code());
    failure
}

fn meaning(status: &Status) -> Failure {
    if find::<ConnectError>(status).is_some() {
        return not_applied(ErrorKind::Unavailable, "the server cannot be reached");
    }
    let message = status.message().to_ascii_lowercase();
    match status.code() {
        Code::ResourceExhausted => not_applied(
            ErrorKind::Throttled,
            "more requests than the cluster or the project's quota has capacity for",
        ),
        Code::NotFound => refused(
            ErrorKind::Configuration,
            if message.contains("profile") {
                "there is no such app profile in this instance"
            } else if message.contains("family") || message.contains("families") {
                "the table lacks a family; `changestore schema apply` creates it"
            } else {
                "there is no such table, instance or project; `changestore schema apply` creates the table"
            },
        ),
        // The emulator says so of a family, too.
        Code::Unknown | Code::InvalidArgument if message.contains("unknown family") => refused(
            ErrorKind::Configuration,
            "the table lacks a family; `changestore schema apply` creates it",
        ),
        Code::Unknown | Code::InvalidArgument | Code::FailedPrecondition
            if message.contains("64-bit") =>
        {
            refused(ErrorKind::Corrupt, "what is to be added to is no number")
        }
        Code::FailedPrecondition if message.contains("transaction") => refused(
            ErrorKind::Configuration,
            "the app profile does not allow single-row transactions: it needs single-cluster routing, and \
             single-row transactions turned on",
        ),
        Code::PermissionDenied => refused(
            ErrorKind::PermissionDenied,
            "the credentials lack a right; changestore-bigtable's README has the roles",
        ),
        Code::Unauthenticated => refused(
            ErrorKind::PermissionDenied,
            "the credentials are not accepted: sign in again, or renew the key",
        ),
        Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::AlreadyExists
        | Code::OutOfRange
        | Code::Unimplemented => Failure {
            error: Error::new(ErrorKind::Other),
            fate: Fate::Refused,
            code: None,
        },
        Code::DeadlineExceeded => changestore_retry::Failure::timed_out().into(),
        // Aborted and cancelled, too, may come after the write, as far as anybody promises.
        Code::Aborted | Code::Cancelled | Code::Unavailable => {
            lost("the request was not answered, or the connection broke")
        }
        Code::Ok | Code::Internal | Code::DataLoss | Code::Unknown => {
            lost("the server failed, or the connection broke")
        }
    }
}

/// Credentials that could not be had. Nothing was sent.
pub(crate) fn credentials(error: &CredentialsError) -> Failure {
    let failure = if error.is_transient() {
        not_applied(
            ErrorKind::Unavailable,
            "the credentials could not be renewed",
        )
    } else {
        refused(
            ErrorKind::PermissionDenied,
            "there are no usable credentials: run `gcloud auth application-default login`, set \
             GOOGLE_APPLICATION_CREDENTIALS, or give the machine a service account",
        )
    };
    // Of an answer to a request for a token nothing is repeated.
    let words = error.to_string();
    let words = words.split("body=<").next().unwrap_or_default();
    failure.caused_by(Reported(words.to_owned()))
}

impl Failure {
    fn caused_by(self, reported: Reported) -> Self {
        Self {
            error: self.error.with_source(reported),
            ..self
        }
    }
}

fn lost(message: &'static str) -> Failure {
    changestore_retry::Failure::lost(message).into()
}

pub(crate) fn refused(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Failure {
    changestore_retry::Failure::refused(kind, message).into()
}

fn not_applied(kind: ErrorKind, message: &'static str) -> Failure {
    changestore_retry::Failure::not_applied(kind, message).into()
}

/// The first error of this type in a chain.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |error| (*error).source())
        .find_map(|error| error.downcast_ref())
}

/// What was reported, as the source of our error: its words, and no more. A status has the reply's headers in
/// its `Debug`.
struct Reported(String);

impl Reported {
    fn by(status: &Status) -> Self {
        let mut words = format!("{:?}", status.code());
        if !status.message().is_empty() {
            words = words + ": " + status.message();
        }
        let mut cause = status.source();
        while let Some(error) = cause {
            let next = error.to_string();
            if !words.contains(&next) {
                words = words + ": " + &next;
            }
            cause = error.source();
        }
        Self(words)
    }
}

impl fmt::Debug for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Reported {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_kind_and_fate() {
        for (code, message, kind, fate) in [
            (
                Code::ResourceExhausted,
                "",
                ErrorKind::Throttled,
                Fate::NotApplied,
            ),
            (
                Code::NotFound,
                "table \"t\" not found",
                ErrorKind::Configuration,
                Fate::Refused,
            ),
            (
                Code::FailedPrecondition,
                "Single-row transactions are not allowed by this app profile",
                ErrorKind::Configuration,
                Fate::Refused,
            ),
            (
                Code::FailedPrecondition,
                "",
                ErrorKind::Other,
                Fate::Refused,
            ),
            (
                Code::PermissionDenied,
                "",
                ErrorKind::PermissionDenied,
                Fate::Refused,
            ),
            (
                Code::Unauthenticated,
                "",
                ErrorKind::PermissionDenied,
                Fate::Refused,
            ),
            (
                Code::DeadlineExceeded,
                "",
                ErrorKind::Unavailable,
                Fate::Lost,
            ),
            (Code::Unavailable, "", ErrorKind::Unavailable, Fate::Lost),
            (Code::Aborted, "", ErrorKind::Unavailable, Fate::Lost),
            (Code::Cancelled, "", ErrorKind::Unavailable, Fate::Lost),
            (Code::Internal, "", ErrorKind::Unavailable, Fate::Lost),
            (Code::Unknown, "", ErrorKind::Unavailable, Fate::Lost),
            (Code::InvalidArgument, "", ErrorKind::Other, Fate::Refused),
        ] {
            let failure = classify(&Status::new(code, message));
            assert_eq!(*failure.error.kind(), kind, "{code:?}");
            assert_eq!(failure.fate, fate, "{code:?}");
            let source = failure.error.source().unwrap().to_string();
            assert!(source.starts_with(&format!("{code:?}")), "{source}");
        }
    }

    #[test]
    fn of_an_answer_to_a_request_for_a_token_nothing_is_repeated() {
        let error = CredentialsError::from_msg(false, "refused, body=<hunter2>");
        let failure = credentials(&error);
        assert!(!format!("{:?}", failure.error).contains("hunter2"));
        assert_eq!(*failure.error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(failure.fate, Fate::Refused);
        let renewal = CredentialsError::from_msg(true, "later");
        assert_eq!(credentials(&renewal).fate, Fate::NotApplied);
    }
}
