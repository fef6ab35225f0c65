//! Counters at the ends of the range, which the server would wrap around, and what an addition leaves where it does
//! not count.

use std::sync::Arc;

use changestore_core::{Condition, DocumentStore, DocumentStoreExt, ErrorKind, QueryOptions};
use futures::future::join_all;

use super::*;

/// From here on a counter is replaced under a condition, and no longer added to in place.
const MIDDLE: i64 = 1 << 62;

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_counter_leaves_the_middle_and_comes_back() {
    let site = Site::new().await;
    let key = key("n");
    let add = |delta| site.store.increment(&key, delta, None);
    for sign in [1, -1] {
        let start = add(0).await.unwrap();
        assert_eq!(add(sign * MIDDLE - start).await.unwrap(), sign * MIDDLE);
        site.proxy.seen();
        // This one leaves it, and guards the counter.
        assert_eq!(add(sign).await.unwrap(), sign * (MIDDLE + 1));
        let sent = ["ReadModifyWriteRow", "ReadRows", "CheckAndMutateRow"];
        assert_eq!(site.proxy.seen(), sent);
        assert_eq!(add(sign).await.unwrap(), sign * (MIDDLE + 2));
        assert_eq!(site.proxy.seen(), sent);
        assert_eq!(add(0).await.unwrap(), sign * (MIDDLE + 2));
        assert_eq!(add(-sign * 2).await.unwrap(), sign * MIDDLE);
        site.proxy.seen();
        // In the middle again it is added to in place.
        assert_eq!(add(-sign).await.unwrap(), sign * (MIDDLE - 1));
        assert_eq!(site.proxy.seen(), ["ReadModifyWriteRow"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn many_leave_the_middle_at_once_and_each_counts() {
    const TASKS: i64 = 64;
    let site = Arc::new(Site::new().await);
    let start = MIDDLE - TASKS / 2;
    site.store.increment(&key("n"), start, None).await.unwrap();
    let racing = (0..TASKS).map(|task| {
        let site = Arc::clone(&site);
        // Some of them cross it forth and back.
        let delta = if task % 4 == 0 { -1 } else { 1 };
        tokio::spawn(async move { site.store.increment(&key("n"), delta, None).await.unwrap() })
    });
    for ended in join_all(racing).await {
        ended.unwrap();
    }
    assert_eq!(site.count().await, start + TASKS / 2);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn no_race_passes_the_end_and_every_refusal_changes_nothing() {
    const TASKS: usize = 64;
    let site = Arc::new(Site::new().await);
    let start = i64::MIN + 20;
    site.store.increment(&key("n"), start, None).await.unwrap();
    let racing = (0..TASKS).map(|task| {
        let site = Arc::clone(&site);
        let delta = if task % 2 == 0 { -1 } else { i64::MIN };
        tokio::spawn(async move {
            let sum = site.store.increment(&key("n"), delta, None).await;
            (delta, sum)
        })
    });
    let mut taken = 0;
    for ended in join_all(racing).await {
        match ended.unwrap() {
            (-1, Ok(_)) => taken += 1,
            (_, Ok(sum)) => panic!("{sum} is below the least"),
            (_, Err(error)) => assert!(
                matches!(error.kind(), ErrorKind::InvalidArgument { field, .. } if *field == "delta"),
                "{error:?}"
            ),
        }
    }
    assert_eq!(taken, 20);
    assert_eq!(site.count().await, i64::MIN);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_addition_that_did_not_count_is_never_seen() {
    let site = Site::new().await;
    let store = &site.store;
    let soon = site.clock_after(1);
    // To a record: it is as it was, and stays under its conditions.
    let lease = record("n", "ada").with_expire_at(soon);
    let lease = store.put(lease, Condition::IfAbsent).await.unwrap();
    for _ in 0..3 {
        store.increment(&key("n"), 7, None).await.unwrap_err();
    }
    assert_eq!(store.get(&key("n")).await.unwrap(), lease);
    let renewed = record("n", "ada").with_expire_at(soon);
    let renewed = store
        .put(renewed, Condition::IfEtag(lease.etag))
        .await
        .unwrap();
    store.increment(&key("n"), 7, None).await.unwrap_err();
    store
        .delete(&key("n"), Condition::IfEtag(renewed.etag))
        .await
        .unwrap();
    // To nothing, and no more came of it: nothing is there.
    site.proxy
        .next_of("CheckAndMutateRow", support::proxy::Fault::LoseRequest);
    store.increment(&key("n"), 7, None).await.unwrap_err();
    assert!(store.find(&key("n")).await.unwrap().is_none());
    let all = store.query_all("partition", "", QueryOptions::default());
    assert_eq!(all.await.unwrap(), []);
    let first = store.put(record("n", "bob"), Condition::IfAbsent).await;
    assert_eq!(first.unwrap().version.get(), 1);
    store.delete(&key("n"), Condition::None).await.unwrap();
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
    // To a counter that is over: it starts again.
    store.increment(&key("n"), 1, Some(soon)).await.unwrap();
    site.clock.set(soon);
    assert_eq!(store.increment(&key("n"), 5, None).await.unwrap(), 5);
}

/// Whoever has read the time before counts on from what was there then.
#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn what_was_added_in_vain_to_a_dead_counter_is_told_to_nobody() {
    let site = Site::new().await;
    let before = site.clock.now();
    let soon = site.clock_after(1);
    let store = &site.store;
    store.increment(&key("n"), 23, Some(soon)).await.unwrap();
    site.clock.set(soon);
    // It finds the counter dead, and does not get to begin another one.
    site.proxy
        .next_of("CheckAndMutateRow", support::proxy::Fault::LoseRequest);
    let lost = store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(lost.outcome(), changestore_core::Outcome::Unknown);
    site.clock.set(before);
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 24);
    site.clock.set(soon);
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
}
