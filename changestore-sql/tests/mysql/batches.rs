//! Creates, and puts without a condition, that wait become one statement.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore as _, Condition, CreateOutcome, DocumentStore as _,
    ErrorKind, ManualClock, Metadata, RecordKind, Timestamp,
};
use futures::future::join_all;

use crate::server::{open, prefix, run, shared, with_prefix};
use crate::{claim, created, key, record};

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
        let metadata = Metadata::new(metadata.as_str()).unwrap();
        store.create(ChangeRecord::new(key, metadata, Timestamp::EPOCH))
    });
    for outcome in join_all(creates).await {
        assert_eq!(outcome.unwrap(), CreateOutcome::Created);
    }
    run(shared(), "SET GLOBAL max_allowed_packet = DEFAULT").await;
}

/// Puts that wait become one statement, too; with everything that may stand at their keys.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn each_put_of_a_batch_is_told_its_own_version() {
    let prefix = prefix();
    let clock = ManualClock::new(Timestamp::from_millis(1_000).unwrap());
    let options = with_prefix(&shared().url(), &prefix).with_clock(clock.clone());
    let store = open(options.with_connections(1)).await;
    let expired = Timestamp::from_millis(2_000).unwrap();
    for place in 0..40 {
        let key = key(&place.to_string());
        match place % 5 {
            0 => {}
            1 => {
                let record = record(&place.to_string(), "old");
                store.put(record, Condition::None).await.unwrap();
            }
            2 => _ = store.increment(&key, 7, None).await.unwrap(),
            3 => _ = store.increment(&key, 7, Some(expired)).await.unwrap(),
            _ => {
                let record = record(&place.to_string(), "old").with_expire_at(expired);
                store.put(record, Condition::None).await.unwrap();
            }
        }
    }
    // As much as the statement for several has room for, and one more.
    for (place, version) in [(1, 32_766), (6, 32_767), (11, i64::MAX - 1)] {
        let sql = format!("UPDATE {prefix}documents SET version = {version} WHERE sk = '{place}'");
        run(shared(), &sql).await;
    }
    clock.set(expired);
    let puts = (0..40).map(|place| store.put(record(&place.to_string(), "new"), Condition::None));
    for (place, put) in join_all(puts).await.into_iter().enumerate() {
        let version = match place {
            1 => 32_767,
            6 => 32_768,
            11 => i64::MAX.unsigned_abs(),
            place if place % 5 == 1 => 2,
            place if place % 5 == 2 => {
                let error = put.unwrap_err();
                let stored = RecordKind::Counter;
                assert_eq!(*error.kind(), ErrorKind::WrongKind { stored });
                continue;
            }
            _ => 1,
        };
        let put = put.unwrap();
        assert_eq!(put.version.get(), version, "{place}");
        assert_eq!(store.get(&put.key).await.unwrap(), put);
    }
}

/// Of the same few records from everywhere at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB"]
async fn puts_of_one_record_have_one_version_each() {
    let store = open(with_prefix(&shared().url(), &prefix()).with_connections(3)).await;
    let puts = (0..600).map(|put| {
        let store = store.clone();
        tokio::spawn(async move {
            let sk = (put % 7).to_string();
            store
                .put(record(&sk, "data"), Condition::None)
                .await
                .unwrap()
        })
    });
    let mut versions = vec![Vec::new(); 7];
    for (put, written) in join_all(puts).await.into_iter().enumerate() {
        versions[put % 7].push(written.unwrap().version.get());
    }
    for mut versions in versions {
        versions.sort_unstable();
        let all: Vec<u64> = (1..).take(versions.len()).collect();
        assert_eq!(versions, all, "without a gap and without a repeat");
    }
}
