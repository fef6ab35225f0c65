//! The way to Google: over TLS, with a token that is renewed, and headers by which requests find their way.

use std::time::Duration;

use changestore_bigtable::google_cloud_auth::credentials::{Credentials, user_account};
use changestore_core::{DocumentStore, ErrorKind, Outcome};
use serde_json::json;

use super::*;
use support::secured::{Secured, Tokens};

/// A user's credentials, whose tokens come from there.
fn credentials(tokens: &Tokens) -> Credentials {
    let user = json!({
        "type": "authorized_user",
        "client_id": "client",
        "client_secret": "hunter2",
        "refresh_token": "hunter3",
        "token_uri": tokens.url,
    });
    // Whoever brings credentials has chosen the cryptography that they are fetched with.
    let _ = rustls::crypto::ring::default_provider().install_default();
    user_account::Builder::new(user).build().unwrap()
}

/// A store of an empty table over TLS.
fn store(server: &Secured, tokens: &Tokens) -> BigtableStore {
    BigtableStore::builder(support::PROJECT, support::INSTANCE)
        .with_endpoint(&server.url)
        .with_trusted_certificate(&server.certificate)
        .with_app_profile("one-cluster")
        .with_channels(1)
        .with_credentials(credentials(tokens))
        .connect()
        .unwrap()
}

/// The bearer tokens that the server has seen since it was last asked.
fn tokens_seen(server: &Secured) -> Vec<String> {
    let seen = server.seen().into_iter();
    seen.map(|headers| headers["authorization"].to_str().unwrap().to_owned())
        .collect()
}

async fn ask(store: &BigtableStore) {
    assert!(store.get(&key("a")).await.unwrap_err().is_not_found());
}

/// Lets hours pass at once, for credentials as for connections.
async fn hours_pass(hours: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_hours(hours)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_request_says_who_asks_for_which_table() {
    let (server, tokens) = (Secured::start().await, Tokens::start(1).await);
    let store = store(&server, &tokens);
    ask(&store).await;
    let seen = server.seen();
    let header = |name: &str| seen[0][name].to_str().unwrap();
    assert_eq!(header("authorization"), "Bearer token-1");
    let table = "projects/project/instances/instance/tables/changestore";
    assert_eq!(header("google-cloud-resource-prefix"), table);
    let table = table.replace('/', "%2F");
    assert_eq!(
        header("x-goog-request-params"),
        format!("table_name={table}&app_profile_id=one-cluster")
    );
    // Reversed scans, and keys that were scanned: fields 1 and 4, both true.
    assert_eq!(header("bigtable-features"), "CAEgAQ==");
    assert!(header("grpc-timeout").ends_with('u') || header("grpc-timeout").ends_with('m'));
    // The token is kept, not asked for each time.
    ask(&store).await;
    assert_eq!(tokens.given(), 1);
}

#[tokio::test]
async fn a_token_is_renewed_and_one_that_expired_is_not_used() {
    let (server, tokens) = (Secured::start().await, Tokens::start(usize::MAX).await);
    let store = store(&server, &tokens);
    ask(&store).await;
    assert_eq!(tokens_seen(&server), ["Bearer token-1"]);
    hours_pass(2).await;
    ask(&store).await;
    assert_eq!(tokens_seen(&server), ["Bearer token-2"]);
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_is_no_longer_used() {
    let (server, tokens) = (Secured::start().await, Tokens::start(1).await);
    let store = store(&server, &tokens);
    ask(&store).await;
    assert_eq!(tokens_seen(&server), ["Bearer token-1"]);
    hours_pass(2).await;
    let error = store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.to_string().contains("gcloud auth"), "{error}");
    assert_eq!(tokens_seen(&server), [""; 0]);
    let printed = format!("{error:?} {store:?}");
    assert!(!printed.contains("hunter"), "{printed}");
}

#[tokio::test]
async fn a_server_that_the_machine_does_not_trust_is_told_nothing() {
    let (server, tokens) = (Secured::start().await, Tokens::start(1).await);
    let store = BigtableStore::builder(support::PROJECT, support::INSTANCE)
        .with_endpoint(&server.url)
        .with_credentials(credentials(&tokens))
        .with_max_attempts(2)
        .connect()
        .unwrap();
    let error = store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(server.seen().is_empty());
}
