//! What an error says: its kind, words that help, and no secrets.

use std::error::Error as _;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use changestore_core::{Condition, DocumentStore, Error, ErrorKind, Outcome};

use super::*;
use support::proxy::Fault;

/// Nobody listens on port 1.
const NOBODY: &str = "http://127.0.0.1:1";

fn store(client: Client) -> DynamoStore {
    DynamoStore::builder(client)
        .with_max_attempts(2)
        .build()
        .unwrap()
}

async fn failed(client: Client) -> Error {
    store(client)
        .increment(&key("n"), 1, None)
        .await
        .unwrap_err()
}

fn bare() -> aws_sdk_dynamodb::config::Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
}

fn credentials() -> Credentials {
    Credentials::new(
        "AKIDEXAMPLE",
        "hunter2",
        Some("session".to_owned()),
        None,
        "test",
    )
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_reached_was_sent_nothing() {
    let error = failed(support::client(NOBODY)).await;
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.is_retryable());
    assert_eq!(
        error.to_string(),
        r#"dynamodb: increment ("partition", "n"): unavailable: the endpoint cannot be reached"#
    );
}

#[tokio::test]
async fn a_missing_region_is_said() {
    let error = failed(Client::from_conf(
        bare().credentials_provider(credentials()).build(),
    ))
    .await;
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("AWS_REGION"), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
}

#[tokio::test]
async fn missing_credentials_are_said() {
    let config = bare()
        .region(Region::from_static("eu-central-1"))
        .endpoint_url(NOBODY);
    let error = failed(Client::from_conf(config.build())).await;
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert!(error.to_string().contains("credentials"), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
}

#[tokio::test]
async fn a_provider_without_credentials_says_how_to_give_some() {
    use aws_credential_types::provider::error::CredentialsError;
    use aws_credential_types::provider::{ProvideCredentials, future};

    #[derive(Debug)]
    struct Nothing;
    impl ProvideCredentials for Nothing {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            future::ProvideCredentials::ready(Err(CredentialsError::not_loaded("nothing there")))
        }
    }

    let config = bare()
        .region(Region::from_static("eu-central-1"))
        .endpoint_url(NOBODY)
        .credentials_provider(Nothing);
    let error = failed(Client::from_conf(config.build())).await;
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
    assert!(
        error
            .source()
            .unwrap()
            .to_string()
            .contains("nothing there")
    );
}

/// What the store says where the server answers that.
async fn answered(status: u16, code: &'static str, message: &'static str) -> Error {
    let proxy = Proxy::before(NOBODY).await;
    proxy.next([Some(Fault::Refuse(status, code, message)); 4]);
    failed(support::client(proxy.url())).await
}

#[tokio::test]
async fn each_answer_has_its_kind() {
    for (code, kind, words) in [
        (
            "ResourceNotFoundException",
            ErrorKind::Configuration,
            "there is no table changestore",
        ),
        (
            "AccessDeniedException",
            ErrorKind::PermissionDenied,
            "policy",
        ),
        (
            "ExpiredTokenException",
            ErrorKind::PermissionDenied,
            "have expired",
        ),
        (
            "UnrecognizedClientException",
            ErrorKind::PermissionDenied,
            "access key",
        ),
        (
            "InvalidSignatureException",
            ErrorKind::PermissionDenied,
            "clock",
        ),
        ("ThrottlingException", ErrorKind::Throttled, "capacity"),
        ("RequestLimitExceeded", ErrorKind::Throttled, "capacity"),
        (
            "TransactionConflictException",
            ErrorKind::Unavailable,
            "transaction",
        ),
        ("ValidationException", ErrorKind::Other, ""),
    ] {
        let error = answered(400, code, "").await;
        assert_eq!(*error.kind(), kind, "{code}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{code}");
        let retryable = matches!(kind, ErrorKind::Throttled | ErrorKind::Unavailable);
        assert_eq!(error.is_retryable(), retryable, "{code}");
        assert!(error.source().unwrap().to_string().contains(code));
    }
}

#[tokio::test]
async fn a_failure_of_the_server_is_unknown() {
    for status in [500, 502, 503] {
        let error = answered(status, "InternalServerError", "").await;
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome(), Outcome::Unknown);
    }
}

#[tokio::test]
async fn what_is_too_large_for_a_proxy_is_too_large() {
    for (status, code, message) in [
        (413, "RequestEntityTooLarge", ""),
        (413, "", ""),
        (
            400,
            "ValidationException",
            "Item size has exceeded the maximum allowed size",
        ),
        (
            400,
            "ValidationException",
            "Item size to update has exceeded the maximum allowed size",
        ),
    ] {
        let error = answered(status, code, message).await;
        assert!(
            matches!(error.kind(), ErrorKind::TooLarge { .. }),
            "{error:?}"
        );
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
}

#[tokio::test]
async fn no_signature_and_no_payload_is_printed() {
    let signed = "The Canonical String should have been x-amz-security-token:session";
    let error = answered(400, "InvalidSignatureException", signed).await;
    let source = error.source().unwrap();
    for printed in [
        error.to_string(),
        format!("{error:?}"),
        format!("{source:?} {source}"),
    ] {
        assert!(!printed.contains("session"), "{printed}");
    }
    let store = store(Client::from_conf(
        support::config(NOBODY)
            .credentials_provider(credentials())
            .build(),
    ));
    let builder = DynamoStore::builder(support::client(NOBODY));
    let error = store
        .put(record("a", "hunter2"), Condition::None)
        .await
        .unwrap_err();
    for printed in [
        format!("{store:?}"),
        format!("{builder:?}"),
        format!("{error:?}"),
    ] {
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}

/// The SDK puts the request into the words of what it cannot send.
#[tokio::test]
async fn an_endpoint_that_is_none_is_said_without_the_request() {
    for endpoint in ["localhost:8000", "http://", "http://scott:tiger@bad host:9"] {
        let config = support::config(endpoint).credentials_provider(credentials());
        let store = store(Client::from_conf(config.build()));
        let error = store
            .put(record("a", "hunter2"), Condition::None)
            .await
            .unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
        let mut printed = format!("{error} {error:?}");
        let mut source = error.source();
        while let Some(cause) = source {
            printed = format!("{printed} {cause} {cause:?}");
            source = cause.source();
        }
        for secret in ["hunter2", "aHVudGVyMg", "tiger"] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }
}
