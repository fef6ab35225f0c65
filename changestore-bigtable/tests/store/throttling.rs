//! The server asks for less: operations succeed late, or fail as throttled, and nothing happens twice.

use changestore_core::{
    ChangeStore, Condition, CreateOutcome, DocumentStore, ErrorKind, Outcome, Version,
};

use super::*;
use support::proxy::Fault;

const FOR_A_WHILE: [Option<Fault>; 3] = [Some(Fault::Throttle); 3];

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn every_operation_succeeds_late() {
    let site = Site::new().await;
    let store = &site.store;
    site.proxy.next(FOR_A_WHILE);
    assert_eq!(
        store.create(claim("1")).await.unwrap(),
        CreateOutcome::Created
    );
    site.proxy.next(FOR_A_WHILE);
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 1);
    for version in 1..=2 {
        site.proxy.next(FOR_A_WHILE);
        let stored = store.put(record("a", "1"), Condition::None).await.unwrap();
        assert_eq!(stored.version, Version::from(version));
    }
    site.proxy.next(FOR_A_WHILE);
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
    site.proxy.next(FOR_A_WHILE);
    store.get(&key("a")).await.unwrap();
    site.proxy.next(FOR_A_WHILE);
    store.delete(&key("a"), Condition::None).await.unwrap();
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 2);
    assert_eq!(site.proxy.left(), 0);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn for_too_long_it_is_throttled_and_not_applied() {
    let site = Site::with(|builder| builder.with_max_attempts(3)).await;
    site.proxy.next(FOR_A_WHILE);
    let error = site.store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Throttled);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.is_retryable());
    assert_eq!(site.proxy.left(), 0);
    assert_eq!(site.store.increment(&key("n"), 1, None).await.unwrap(), 1);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn after_a_lost_reply_a_throttled_put_is_unknown() {
    let site = Site::with(|builder| builder.with_max_attempts(3)).await;
    let lost = [Fault::LoseReply, Fault::Throttle, Fault::Throttle];
    site.proxy.next(lost.map(Some));
    let error = site.store.create(claim("1")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Throttled);
    assert_eq!(error.outcome(), Outcome::Unknown);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn each_attempt_asks_the_clock() {
    let site = Site::new().await;
    let store = &site.store;
    let soon = site.clock_after(1);
    let lease = record("lease", "ada").with_expire_at(soon);
    store.put(lease, Condition::IfAbsent).await.unwrap();
    // It is held when the call begins and has expired when the request gets through.
    site.proxy.next(FOR_A_WHILE);
    let heir = store.put(record("lease", "bob"), Condition::IfAbsent);
    let time_passes = async { site.clock.set(soon) };
    let (heir, ()) = tokio::join!(heir, time_passes);
    assert_eq!(heir.unwrap().version, Version::FIRST);
}
