//! Planned failures: which call fails, how, and what it did.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, DocumentStore, DocumentStoreExt, ErrorKind,
    Key, Metadata, NewRecord, Operation, Outcome, QueryOptions, Timestamp,
};
use store_mem::{Failure, MemStore};

fn record() -> NewRecord {
    NewRecord::new(Key::new("p", "s").unwrap(), "data").unwrap()
}

#[tokio::test]
async fn only_the_next_calls_of_that_operation_fail_and_in_order() {
    let store = MemStore::new();
    store.fail_next(Operation::Put, Failure::not_applied(ErrorKind::Throttled));
    store.fail_next(
        Operation::Put,
        Failure::not_applied(ErrorKind::PermissionDenied),
    );
    assert!(store.get(record().key()).await.unwrap_err().is_not_found());

    let first = store.put(record(), Condition::None).await.unwrap_err();
    assert_eq!(first.kind(), &ErrorKind::Throttled);
    assert!(first.is_retryable());
    assert_eq!(first.outcome(), Outcome::NotApplied);
    let second = store.put(record(), Condition::None).await.unwrap_err();
    assert_eq!(second.kind(), &ErrorKind::PermissionDenied);
    assert_eq!(
        store
            .put(record(), Condition::IfAbsent)
            .await
            .unwrap()
            .version
            .get(),
        1
    );
}

#[tokio::test]
async fn a_lost_reply_is_applied_and_a_lost_request_is_not() {
    let store = MemStore::new();
    store.fail_next(
        Operation::Put,
        Failure::request_lost(ErrorKind::Unavailable),
    );
    let error = store.put(record(), Condition::None).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(store.find(record().key()).await.unwrap().is_none());

    store.fail_next(Operation::Put, Failure::reply_lost(ErrorKind::Unavailable));
    let error = store.put(record(), Condition::None).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(
        error.to_string(),
        "mem: put (\"p\", \"s\"): unavailable: a failure that the test asked for; it may have been applied"
    );
    assert!(store.find(record().key()).await.unwrap().is_some());
}

#[tokio::test]
async fn every_operation_can_fail() {
    let store = MemStore::new();
    let fail = |operation| store.fail_next(operation, Failure::not_applied(ErrorKind::Unavailable));
    let failed = |error: changestore_core::Error| assert_eq!(error.kind(), &ErrorKind::Unavailable);
    let claim = ChangeKey::new("queue", "uri", "request").unwrap();
    let claim = ChangeRecord::new(claim, Metadata::default(), Timestamp::EPOCH);

    fail(Operation::Create);
    failed(store.create(claim).await.unwrap_err());
    fail(Operation::GetByUri);
    failed(store.get_by_uri("queue", "uri").await.unwrap_err());
    fail(Operation::Get);
    failed(store.get(record().key()).await.unwrap_err());
    fail(Operation::Delete);
    failed(
        store
            .delete(record().key(), Condition::None)
            .await
            .unwrap_err(),
    );
    fail(Operation::Query);
    failed(
        store
            .query_all("p", "", QueryOptions::default())
            .await
            .unwrap_err(),
    );
    fail(Operation::Increment);
    failed(store.increment(record().key(), 1, None).await.unwrap_err());
}
