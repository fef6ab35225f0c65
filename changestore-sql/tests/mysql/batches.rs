//! Creates that wait become one statement.

use changestore_core::{ChangeKey, ChangeRecord, ChangeStore as _, CreateOutcome, ErrorKind};
use futures::future::join_all;

use crate::server::{open, prefix, run, shared, with_prefix};
use crate::{claim, created};

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn each_create_of_a_batch_is_told_its_own_outcome() {
    let store = open(with_prefix(&shared().url(), &prefix()).with_connections(1)).await;
    for there in [3, 17, 49] {
        created(&store, &format!("r{there:02}")).await;
    }
    // In no order of the keys, each three times, and all at once on one connection.
    let requests = (0..150).map(|place| format!("r{:02}", (place * 37) % 50));
    let requests: Vec<String> = requests.collect();
    let outcomes = requests.iter().map(|request| store.create(claim(request)));
    let outcomes = join_all(outcomes).await;
    let mut new: Vec<&str> = Vec::new();
    for (request, outcome) in requests.iter().zip(outcomes) {
        if outcome.unwrap() == CreateOutcome::Created {
            new.push(request);
        }
    }
    new.sort_unstable();
    let expected: Vec<String> = (0..50)
        .filter(|place| ![3, 17, 49].contains(place))
        .map(|place| format!("r{place:02}"))
        .collect();
    assert_eq!(
        new, expected,
        "each of the others was created by one create"
    );
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 50);
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn one_that_the_server_refuses_leaves_its_neighbours_alone() {
    let prefix = prefix();
    let store = open(with_prefix(&shared().url(), &prefix).with_connections(1)).await;
    let alter = format!("ALTER TABLE {prefix}claims ADD CHECK (request_id <> 'r7')");
    run(shared(), &alter).await;
    let requests: Vec<String> = (0..20).map(|request| format!("r{request}")).collect();
    let creates = requests.iter().map(|request| store.create(claim(request)));
    for (request, outcome) in requests.iter().zip(join_all(creates).await) {
        match outcome {
            Ok(outcome) => assert_eq!((outcome, request != "r7"), (CreateOutcome::Created, true)),
            Err(error) => {
                assert_eq!(request, "r7", "{error}");
                assert_eq!(*error.kind(), ErrorKind::Configuration);
                assert!(error.to_string().contains("was it altered?"), "{error}");
            }
        }
    }
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 19);
}

/// Together more than the server takes in one packet.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn large_creates_do_not_become_too_large_a_packet() {
    let url = shared().url();
    run(shared(), "SET GLOBAL max_allowed_packet = 2097152").await;
    let store = open(with_prefix(&url, &prefix()).with_connections(1)).await;
    let metadata = format!("\"{}\"", "x".repeat(384 * 1024 - 2));
    let creates = (0..30).map(|request| {
        let key = ChangeKey::new("q".repeat(255), "u".repeat(768), format!("r{request}")).unwrap();
        let metadata = changestore_core::Metadata::new(metadata.as_str()).unwrap();
        store.create(ChangeRecord::new(
            key,
            metadata,
            changestore_core::Timestamp::EPOCH,
        ))
    });
    for outcome in join_all(creates).await {
        assert_eq!(outcome.unwrap(), CreateOutcome::Created);
    }
    run(shared(), "SET GLOBAL max_allowed_packet = DEFAULT").await;
}
