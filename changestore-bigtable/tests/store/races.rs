//! Sixty-four tasks at one key.

use std::sync::Arc;

use changestore_core::{Condition, DocumentStore, ErrorKind, Version};
use futures::future::join_all;

use super::*;

const TASKS: usize = 64;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn one_puts_and_all_others_are_refused_on_a_server_that_loses_replies() {
    use support::proxy::Fault;
    let site = Arc::new(Site::new().await);
    let losses = (0..TASKS).map(|number| (number % 4 == 0).then_some(Fault::LoseReply));
    site.proxy.next(losses);
    let racing = (0..TASKS).map(|task| {
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let put = record("a", &task.to_string());
            site.store.put(put, Condition::IfAbsent).await
        })
    });
    let ended: Vec<_> = join_all(racing)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let stored = site.store.get(&key("a")).await.unwrap();
    assert_eq!(stored.version, Version::FIRST);
    let winners: Vec<_> = ended.iter().flatten().collect();
    assert_eq!(winners, [&stored]);
    for error in ended.into_iter().filter_map(Result::err) {
        let unknown = error.outcome() == changestore_core::Outcome::Unknown;
        assert!(
            unknown || *error.kind() == ErrorKind::ConditionFailed,
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn increments_are_counted_once_or_unknown() {
    use support::proxy::Fault;
    let site = Arc::new(Site::new().await);
    assert_eq!(site.count().await, 0);
    let losses = (0..TASKS).map(|number| match number % 8 {
        0 => Some(Fault::LoseReply),
        2 => Some(Fault::LoseRequest),
        4 => Some(Fault::Throttle),
        _ => None,
    });
    site.proxy.next(losses);
    let racing = (0..TASKS).map(|_| {
        let site = Arc::clone(&site);
        tokio::spawn(async move { site.store.increment(&key("n"), 1, None).await })
    });
    let ended: Vec<_> = join_all(racing)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let mut values: Vec<_> = ended.iter().flatten().copied().collect();
    values.sort_unstable();
    values.dedup();
    let counted = values.len();
    let unknown = ended.into_iter().filter_map(Result::err);
    let unknown = unknown
        .inspect(|error| assert_eq!(error.outcome(), changestore_core::Outcome::Unknown))
        .count();
    assert_eq!(counted + unknown, TASKS);
    let value = site.count().await;
    // Of the unknown ones, the lost replies were counted and the lost requests were not.
    assert_eq!(value, i64::try_from(counted + TASKS / 8).unwrap());
}
