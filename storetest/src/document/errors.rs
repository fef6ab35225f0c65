//! What failures say, and what they do not.

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt, Error, ErrorKind, NewRecord, Operation,
    QueryOptions, RecordKind, limits,
};

use super::records::{PK, key, nobodys_etag, put, record, version};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn they_name_backend_operation_and_key(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let (absent, counter) = (key(PK, "absent"), key(PK, "counter"));
    let stored = put(store, record("stored", "")).await;
    store.increment(&counter, i64::MAX, None).await.unwrap();
    let stale = || Condition::IfVersion(version(9));

    let error = expect::not_found(store.get(&absent).await);
    expect::names(&error, Operation::Get, &absent);
    let error = expect::condition_failed(store.put(record("stored", ""), stale()).await);
    expect::names(&error, Operation::Put, &stored.key);
    let error = store.put(record("counter", ""), Condition::None).await;
    let error = expect::wrong_kind(error, RecordKind::Counter);
    expect::names(&error, Operation::Put, &counter);
    let error = expect::not_found(store.delete(&absent, Condition::None).await);
    expect::names(&error, Operation::Delete, &absent);
    let error = expect::condition_failed(store.delete(&stored.key, stale()).await);
    expect::names(&error, Operation::Delete, &stored.key);
    let error = store.increment(&stored.key, 1, None).await;
    let error = expect::wrong_kind(error, RecordKind::Record);
    expect::names(&error, Operation::Increment, &stored.key);
    let error = expect::invalid(store.increment(&counter, 1, None).await, "delta");
    expect::names(&error, Operation::Increment, &counter);
}

pub(super) async fn keys_are_printed_escaped(fixture: &Fixture<dyn DocumentStore>) {
    let missing = key("\"pk\"\n", "\u{1b}[31m");
    let error = expect::not_found(fixture.store.get(&missing).await);
    let printed = error.to_string();
    assert!(!printed.contains(['\n', '\u{1b}']), "{printed:?}");
    assert!(
        printed.contains(r#"("\"pk\"\n", "\u{1b}[31m")"#),
        "{printed}"
    );
}

/// Failures of every operation that was given data, or met some.
async fn failures_with(store: &dyn DocumentStore, secret: &str) -> Vec<Error> {
    let stored = put(store, record("stored", secret)).await;
    let counter = key(PK, "counter");
    store.increment(&counter, i64::MAX, None).await.unwrap();
    let put = async |sk, condition| store.put(record(sk, secret), condition).await.unwrap_err();
    let too_much = secret.repeat(limits::DATA.max_bytes());
    vec![
        put("stored", Condition::IfAbsent).await,
        put("stored", Condition::IfVersion(version(9))).await,
        put("stored", Condition::IfEtag(nobodys_etag())).await,
        put("absent", Condition::IfVersion(version(9))).await,
        put("counter", Condition::None).await,
        store
            .delete(&stored.key, Condition::IfVersion(version(9)))
            .await
            .unwrap_err(),
        store
            .delete(&stored.key, Condition::IfAbsent)
            .await
            .unwrap_err(),
        store.increment(&stored.key, 1, None).await.unwrap_err(),
        store.increment(&counter, 1, None).await.unwrap_err(),
        NewRecord::new(key(PK, "too much"), too_much).unwrap_err(),
    ]
}

pub(super) async fn nothing_printed_holds_data(fixture: &Fixture<dyn DocumentStore>) {
    const SECRET: &str = "hunter2";
    let store = &*fixture.store;
    for error in failures_with(store, SECRET).await {
        expect::keeps_secret(&error, SECRET);
    }
    let new = record("sk", SECRET);
    let written = put(store, new.clone()).await;
    for printed in [
        format!("{new:?}"),
        format!("{written:#?}"),
        format!("{store:?}"),
    ] {
        assert!(!printed.contains(SECRET), "data in {printed}");
        let as_bytes = format!("{:?}", SECRET.as_bytes());
        assert!(
            !printed.contains(as_bytes.trim_matches(['[', ']'])),
            "data in {printed}"
        );
    }
}

pub(super) async fn a_refused_query_says_so_in_the_stream(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let refused = store.query_all("", "", QueryOptions::default()).await;
    let error = expect::invalid(refused, "pk");
    let ErrorKind::InvalidArgument { reason, .. } = error.kind() else {
        unreachable!("just checked");
    };
    assert!(!reason.is_empty(), "a reason that a person can act on");
}
