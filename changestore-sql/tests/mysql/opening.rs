//! What opening refuses, and how it says so.

use std::time::{Duration, Instant};

use changestore_core::{Error, ErrorKind, Operation};
use changestore_sql::{MySqlOptions, MySqlStore};
use engines::mariadb;

use crate::server::{open, options, run, shared};

async fn refused(url: &str) -> Error {
    let error = MySqlStore::open(url).await.unwrap_err();
    assert_eq!(error.backend(), Some("mysql"));
    assert_eq!(error.operation(), Some(Operation::Open));
    let mut printed = format!("{error} {error:?}");
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        printed.push_str(&error.to_string());
        source = error.source();
    }
    assert!(!printed.contains("s3cret"), "{printed}");
    error
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn who_is_not_let_in_is_told_without_the_password() {
    let port = shared().port();
    let error = refused(&format!(
        "mysql://nobody:s3cret@127.0.0.1:{port}/changestore"
    ))
    .await;
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert!(!error.is_retryable());
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_database_that_is_not_there_is_a_configuration() {
    let url = shared().url();
    let (server, _) = url.rsplit_once('/').unwrap();
    let error = refused(&format!("{server}/nowhere")).await;
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("no such database"), "{error}");
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_server_that_is_not_there_is_given_the_connect_timeout() {
    let server = mariadb::start().unwrap();
    let url = server.url();
    drop(server);
    let timeout = Duration::from_millis(200);
    let options = MySqlOptions::new(&url)
        .unwrap()
        .with_connect_timeout(timeout);
    let begun = Instant::now();
    let error = MySqlStore::open_with(options).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.is_retryable());
    assert!(begun.elapsed() >= timeout);
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn packets_that_are_too_small_are_refused_before_anything_is_written() {
    let server = mariadb::start_with(&[("max_allowed_packet", "1048576")]).unwrap();
    for error in [
        refused(&server.url()).await,
        MySqlStore::migrate_with(options(&server))
            .await
            .unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
        let words = "max_allowed_packet is 1048576 bytes";
        assert!(error.to_string().contains(words), "{error}");
    }
    run(&server, "SET GLOBAL max_allowed_packet = 2097152").await;
    open(options(&server)).await;
}
