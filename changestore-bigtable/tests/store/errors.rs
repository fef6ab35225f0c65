//! What an error says: its kind, words that help, and no secrets.

use std::error::Error as _;

use changestore_core::{Condition, DocumentStore, Error, ErrorKind, Outcome};
use tonic::Code;

use super::*;
use support::proxy::Fault;

/// Nobody listens on port 1.
const NOBODY: &str = "127.0.0.1:1";

fn store(address: &str) -> BigtableStore {
    support::builder(address, "changestore")
        .with_max_attempts(2)
        .connect()
        .unwrap()
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_was_sent_nothing() {
    let error = store(NOBODY)
        .increment(&key("n"), 1, None)
        .await
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.is_retryable());
    assert_eq!(
        error.to_string(),
        r#"bigtable: increment ("partition", "n"): unavailable: the server cannot be reached"#
    );
}

/// What the store says where the server answers that.
async fn answered(code: Code, message: &'static str) -> Error {
    let proxy = Proxy::before(NOBODY).await;
    proxy.next([Some(Fault::Refuse(code, message)); 4]);
    store(proxy.address())
        .increment(&key("n"), 1, None)
        .await
        .unwrap_err()
}

#[tokio::test]
async fn each_answer_has_its_kind() {
    for (code, message, kind, words) in [
        (
            Code::NotFound,
            "Table not found: t",
            ErrorKind::Configuration,
            "no such table",
        ),
        (
            Code::NotFound,
            "App profile not found: x",
            ErrorKind::Configuration,
            "no such app profile",
        ),
        (
            Code::NotFound,
            "unknown family \"k\"",
            ErrorKind::Configuration,
            "lacks a family",
        ),
        (
            Code::FailedPrecondition,
            "Single-row transactions are not allowed by this app profile",
            ErrorKind::Configuration,
            "single-cluster routing",
        ),
        (
            Code::PermissionDenied,
            "",
            ErrorKind::PermissionDenied,
            "roles",
        ),
        (
            Code::Unauthenticated,
            "",
            ErrorKind::PermissionDenied,
            "sign in again",
        ),
        (
            Code::ResourceExhausted,
            "",
            ErrorKind::Throttled,
            "capacity",
        ),
        (Code::InvalidArgument, "", ErrorKind::Other, ""),
    ] {
        let error = answered(code, message).await;
        assert_eq!(*error.kind(), kind, "{code:?} {message}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{code:?}");
        assert_eq!(error.is_retryable(), kind == ErrorKind::Throttled);
        let source = error.source().unwrap().to_string();
        assert!(source.contains(&format!("{code:?}")), "{source}");
    }
}

#[tokio::test]
async fn a_failure_of_the_server_is_unknown() {
    for code in [
        Code::Unavailable,
        Code::Internal,
        Code::Unknown,
        Code::Aborted,
        Code::Cancelled,
        Code::DeadlineExceeded,
    ] {
        let error = answered(code, "").await;
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{code:?}");
        assert_eq!(error.outcome(), Outcome::Unknown, "{code:?}");
    }
}

#[tokio::test]
async fn no_payload_is_printed() {
    let store = store(NOBODY);
    let error = store
        .put(record("a", "hunter2"), Condition::None)
        .await
        .unwrap_err();
    let builder = support::builder(NOBODY, "changestore");
    for printed in [
        format!("{store:?}"),
        format!("{builder:?}"),
        format!("{error:?}"),
    ] {
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}

#[test]
fn outside_of_a_runtime_there_is_no_store() {
    let made = support::builder(NOBODY, "changestore").connect();
    assert_eq!(*made.unwrap_err().kind(), ErrorKind::Configuration);
}
