//! A server that is killed, with all that it had in memory, and comes back empty.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use changestore_core::{Condition, DocumentStore, ErrorKind, Outcome};
use futures::future::join_all;

use super::*;

const TASKS: usize = 16;
const CHANNELS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the Bigtable emulator; run cargo xtask ci"]
async fn what_was_under_way_is_unknown_and_what_comes_later_is_not_applied() {
    let server = engines::bigtable::start().unwrap();
    let address = server.url();
    let open = |attempts| {
        support::builder(&address, "changestore")
            .with_max_attempts(attempts)
            .with_channels(CHANNELS)
            .connect()
            .unwrap()
    };
    let store = open(1);
    store.create_table().await.unwrap();
    let is_killed = Arc::new(AtomicBool::new(false));
    let writers = (0..TASKS).map(|task| {
        let (store, is_killed) = (store.clone(), Arc::clone(&is_killed));
        tokio::spawn(async move {
            let mut written = 0;
            loop {
                // Whether the write began after the server's end.
                let begun_after = is_killed.load(Ordering::SeqCst);
                let ended = if task % 2 == 0 {
                    let put = record(&format!("{task}-{written}"), "data");
                    store.put(put, Condition::IfAbsent).await.map(drop)
                } else {
                    store.increment(&key("n"), 1, None).await.map(drop)
                };
                match ended {
                    Ok(()) => {
                        assert!(!begun_after, "a server that is no more has answered");
                        written += 1;
                    }
                    Err(error) => return (written, begun_after, error),
                }
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    // In the middle of it all.
    while store.increment(&key("n"), 0, None).await.unwrap() < 100 {
        tokio::task::yield_now().await;
    }
    server.kill().unwrap();
    is_killed.store(true, Ordering::SeqCst);
    for ended in join_all(writers).await {
        let (written, begun_after, error) = ended.unwrap();
        assert!(written > 0);
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.is_retryable());
        // What was sent to a connection that broke may have been applied; what found none was not.
        if begun_after && error.to_string().contains("cannot be reached") {
            assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
        }
    }
    // Each connection learns of it from one call at most.
    let mut outcomes = Vec::new();
    for _ in 0..=CHANNELS {
        let error = store.increment(&key("n"), 1, None).await.unwrap_err();
        outcomes.push(error.outcome());
    }
    assert!(outcomes.contains(&Outcome::NotApplied), "{outcomes:?}");

    // It comes back without the table, and the same store goes on.
    server.restart().unwrap();
    let store = open(10);
    let error = store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    store.create_table().await.unwrap();
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the Bigtable emulator; run cargo xtask ci"]
async fn a_store_finds_a_server_again_that_was_away() {
    let server = engines::bigtable::start().unwrap();
    let store = support::builder(&server.url(), "changestore")
        .connect()
        .unwrap();
    store.create_table().await.unwrap();
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
    server.kill().unwrap();
    let key = key("n");
    let call = store.increment(&key, 1, None);
    let back = async {
        tokio::task::spawn_blocking(move || server.restart().map(|()| server))
            .await
            .unwrap()
            .unwrap()
    };
    let (ended, server) = tokio::join!(call, back);
    // In time for an attempt, it has no table; else the attempts were over before.
    let error = ended.unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Configuration | ErrorKind::Unavailable
        ),
        "{error:?}"
    );
    store.create_table().await.unwrap();
    assert_eq!(store.increment(&key, 1, None).await.unwrap(), 1);
    drop(server);
}
