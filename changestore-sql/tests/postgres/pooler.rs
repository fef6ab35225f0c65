//! Behind PgBouncer in transaction mode, where each statement may go to another connection to the server.

use std::sync::Arc;

use changestore_core::{
    ChangeKey, ChangeStore as _, Condition, CreateOutcome, DocumentStore as _,
    DocumentStoreExt as _, ErrorKind, Metadata, MetadataUpdate, QueryOptions, RecordKind,
    Timestamp, Version,
};
use changestore_sql::{PostgresOptions, PostgresStore};
use tokio::task::JoinSet;

use super::server::{claim, key, record};

/// Few connections to the server, so that sessions are really shared.
const CONNECTIONS: usize = 3;

pub(crate) async fn all_operations_go_through_a_pooler_in_transaction_mode() {
    let postgres = engines::postgres::start().unwrap();
    let pooler = engines::pgbouncer::start(&postgres, CONNECTIONS).unwrap();
    let options = PostgresOptions::new(&pooler.url())
        .unwrap()
        .with_prepared_statements(false);
    PostgresStore::migrate_with(options.clone()).await.unwrap();
    let store = Arc::new(PostgresStore::open_with(options).await.unwrap());
    claims(&store).await;
    documents(&store).await;
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for step in 0..10 {
                store.increment(&key("n"), 1, None).await.unwrap();
                let request = format!("r'{}\\", (task + step) % 20);
                let _ = store.create(claim(&request)).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(store.increment(&key("n"), 0, None).await.unwrap(), 640);
    assert_eq!(
        store.get_by_uri("queue", "uri").await.unwrap().len(),
        20 + 1
    );
}

async fn claims(store: &PostgresStore) {
    assert_eq!(
        store.create(claim("c")).await.unwrap(),
        CreateOutcome::Created
    );
    assert_eq!(
        store.create(claim("c")).await.unwrap(),
        CreateOutcome::AlreadyThere
    );
    let key = ChangeKey::new("queue", "uri", "c").unwrap();
    let text = r#"{"quote":"it's","slash":"\\","dollar":"$1"}"#;
    let update = MetadataUpdate {
        metadata: Metadata::new(text).unwrap(),
        old_version: Version::FIRST,
        new_version: Version::from(2),
        updated_at: Timestamp::EPOCH,
    };
    store.update_metadata(&key, update.clone()).await.unwrap();
    let error = store.update_metadata(&key, update).await.unwrap_err();
    assert_eq!(error.stored_version(), Some(Version::from(2)));
    let claims = store.get_by_uri("queue", "uri").await.unwrap();
    assert_eq!(claims[0].metadata.as_str(), text);
}

async fn documents(store: &PostgresStore) {
    let data: Vec<u8> = (0..=255).collect();
    let bytes = changestore_core::NewRecord::new(key("bytes"), data.clone()).unwrap();
    let put = store.put(bytes, Condition::IfAbsent).await.unwrap();
    let got = store.get(&key("bytes")).await.unwrap();
    assert_eq!((&got.data[..], &got.etag), (&data[..], &put.etag));
    store
        .put(record("bytes"), Condition::IfEtag(put.etag))
        .await
        .unwrap();
    let error = store.increment(&key("bytes"), 1, None).await.unwrap_err();
    assert_eq!(
        *error.kind(),
        ErrorKind::WrongKind {
            stored: RecordKind::Record
        }
    );
    assert_eq!(
        store.increment(&key("min"), i64::MIN, None).await.unwrap(),
        i64::MIN
    );
    let records = store
        .query_all("partition", "", QueryOptions::default().with_limit(5))
        .await
        .unwrap();
    assert_eq!(records.len(), 1);
    let error = store
        .delete(&key("bytes"), Condition::IfVersion(Version::from(9)))
        .await
        .unwrap_err();
    assert!(error.is_condition_failed());
    store.delete(&key("bytes"), Condition::None).await.unwrap();
    assert_eq!(store.collect_expired().await.unwrap(), 0);
}

pub(crate) async fn with_prepared_statements_the_error_says_what_to_do() {
    let postgres = engines::postgres::start().unwrap();
    let pooler = engines::pgbouncer::start(&postgres, CONNECTIONS).unwrap();
    let direct = PostgresOptions::new(&postgres.url()).unwrap();
    PostgresStore::migrate_with(direct).await.unwrap();
    let store = Arc::new(PostgresStore::open(&pooler.url()).await.unwrap());
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let store = Arc::clone(&store);
        tasks.spawn(async move { store.increment(&key("n"), 1, None).await });
    }
    let failed: Vec<_> = tasks
        .join_all()
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect();
    let helps = |error: &changestore_core::Error| {
        *error.kind() == ErrorKind::Configuration
            && error.to_string().contains("turn prepared statements off")
    };
    assert!(failed.iter().any(helps), "{failed:?}");
}
