//! What errors say: the backend, the operation and the key, each thing once.

use std::error::Error as StdError;

use changestore_core::{
    ChangeStore, Condition, DocumentStore, Error, ErrorKind, MetadataUpdate, Operation, Outcome,
    QueryOptions, Version,
};
use changestore_sql::SqliteStore;
use futures::{StreamExt as _, future::join_all};

use crate::{File, claim, created, key, record};

async fn first_of_query(store: &SqliteStore, pk: &str, options: QueryOptions) -> Error {
    let mut records = store.query(pk, "", options);
    records.next().await.unwrap().unwrap_err()
}

/// One error of each operation, with its key.
async fn one_of_each(store: &SqliteStore) -> Vec<(Error, Operation, &'static str)> {
    let update = MetadataUpdate {
        metadata: claim("r").metadata,
        old_version: Version::FIRST,
        new_version: Version::FIRST.next(),
        updated_at: claim("r").updated_at,
    };
    let claim_key = r#"("queue", "uri", "r")"#;
    let record_key = r#"("partition", "a")"#;
    let a = key("a");
    vec![
        (
            store.create(claim("r")).await.unwrap_err(),
            Operation::Create,
            claim_key,
        ),
        (
            store
                .update_metadata(&claim("r").key, update)
                .await
                .unwrap_err(),
            Operation::UpdateMetadata,
            claim_key,
        ),
        (
            store.get_by_uri("queue", "uri").await.unwrap_err(),
            Operation::GetByUri,
            r#"("queue", "uri")"#,
        ),
        (store.get(&a).await.unwrap_err(), Operation::Get, record_key),
        (
            store
                .put(record("a", "1"), Condition::None)
                .await
                .unwrap_err(),
            Operation::Put,
            record_key,
        ),
        (
            store.delete(&a, Condition::None).await.unwrap_err(),
            Operation::Delete,
            record_key,
        ),
        (
            store.increment(&a, 1, None).await.unwrap_err(),
            Operation::Increment,
            record_key,
        ),
        (
            first_of_query(store, "partition", QueryOptions::default()).await,
            Operation::Query,
            r#"("partition")"#,
        ),
    ]
}

fn check_names(errors: &[(Error, Operation, &str)]) {
    for (error, operation, key) in errors {
        let beginning = format!("sqlite: {operation} {key}: ");
        assert!(error.to_string().starts_with(&beginning), "{error}");
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
}

#[tokio::test]
async fn errors_of_the_database_name_everything() {
    let file = File::new();
    let store = file.store().await;
    file.direct()
        .execute_batch("DROP TABLE changestore_claims; DROP TABLE changestore_documents")
        .unwrap();
    check_names(&one_of_each(&store).await);
}

#[tokio::test]
async fn a_closed_store_says_so_in_the_same_words_everywhere() {
    let file = File::new();
    let store = file.store().await;
    store.close().await;
    let errors = one_of_each(&store).await;
    check_names(&errors);
    for (error, ..) in errors {
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.message(), Some("the store is closed"));
        assert!(!error.is_retryable());
    }
    let error = store.collect_expired().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "sqlite: collect_expired: unavailable: the store is closed"
    );
}

#[tokio::test]
async fn what_is_corrupt_names_everything() {
    let file = File::new();
    let store = file.store().await;
    created(&store, "r").await;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    file.direct()
        .execute_batch(
            "UPDATE changestore_claims SET metadata = 'no'; \
             UPDATE changestore_documents SET etag = CAST(x'00' AS TEXT)",
        )
        .unwrap();
    let errors = [
        store.get_by_uri("queue", "uri").await.unwrap_err(),
        store.get(&key("a")).await.unwrap_err(),
        first_of_query(&store, "partition", QueryOptions::default()).await,
    ];
    for (error, beginning) in errors.iter().zip([
        r#"sqlite: get_by_uri ("queue", "uri"): corrupt data: "#,
        r#"sqlite: get ("partition", "a"): corrupt data: "#,
        r#"sqlite: query ("partition"): corrupt data: "#,
    ]) {
        assert!(error.to_string().starts_with(beginning), "{error}");
    }
}

#[tokio::test]
async fn refused_arguments_name_everything_but_a_key_that_is_too_long() {
    let file = File::new();
    let store = file.store().await;
    let long = "x".repeat(2_000);
    let mut not_new = claim("r");
    not_new.version = Version::FIRST.next();
    let zero = MetadataUpdate {
        metadata: claim("r").metadata,
        old_version: Version::FIRST,
        new_version: Version::ABSENT,
        updated_at: claim("r").updated_at,
    };
    let after = QueryOptions::default().with_start_after(long.clone());
    for (error, beginning) in [
        (
            store
                .delete(&key("a"), Condition::IfAbsent)
                .await
                .unwrap_err(),
            r#"sqlite: delete ("partition", "a"): condition is invalid"#,
        ),
        (
            store.create(not_new).await.unwrap_err(),
            r#"sqlite: create ("queue", "uri", "r"): version is invalid"#,
        ),
        (
            store
                .update_metadata(&claim("r").key, zero)
                .await
                .unwrap_err(),
            r#"sqlite: update_metadata ("queue", "uri", "r"): new_version is invalid"#,
        ),
        (
            store.get_by_uri("queue", &long).await.unwrap_err(),
            "sqlite: get_by_uri: uri is too large",
        ),
        (
            store.get_by_uri("queue", "").await.unwrap_err(),
            r#"sqlite: get_by_uri ("queue", ""): uri is invalid"#,
        ),
        (
            first_of_query(&store, &long, QueryOptions::default()).await,
            "sqlite: query: pk is too large",
        ),
        (
            first_of_query(&store, "partition", after).await,
            r#"sqlite: query ("partition"): start_after is too large"#,
        ),
    ] {
        assert!(error.to_string().starts_with(beginning), "{error}");
    }
}

#[tokio::test]
async fn the_chain_of_causes_says_each_thing_once() {
    let file = File::new();
    let store = file.store().await;
    file.direct()
        .execute_batch("DROP TABLE changestore_documents")
        .unwrap();
    let error = store.get(&key("a")).await.unwrap_err();
    let chain: Vec<String> =
        std::iter::successors(Some(&error as &dyn StdError), |error| (**error).source())
            .map(ToString::to_string)
            .collect();
    let times = chain.iter().filter(|words| words.contains("no such table"));
    assert_eq!(times.count(), 1, "{chain:?}");
}

#[test]
fn writes_whose_runtime_ends_name_everything_and_know_whether_they_began() {
    let file = File::new();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (first, second) = (runtime(), runtime());
    let store = first.block_on(file.store());
    // The first runtime does nothing any more: these stay in the queue until it ends.
    let mut writes = Box::pin(join_all((0..3).map(|_| {
        let store = store.clone();
        async move { store.put(record("a", "1"), Condition::None).await }
    })));
    second.block_on(async {
        assert!(futures::poll!(writes.as_mut()).is_pending());
    });
    drop(first);
    for result in second.block_on(writes) {
        let error = result.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotApplied);
        check_names(&[(error, Operation::Put, r#"("partition", "a")"#)]);
    }
    let error = second.block_on(store.collect_expired()).unwrap_err();
    assert!(error.to_string().contains("runtime"), "{error}");
    // Reads have no need of it.
    let error = second.block_on(store.get(&key("a"))).unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
