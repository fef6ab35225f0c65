//! What only a file can show: it lasts, it is locked, and it may be somebody else's.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, DocumentStore, ErrorKind, Key, Metadata,
    NewRecord, Operation, Timestamp,
};
use redb::{Database, TableDefinition};
use tempfile::TempDir;
use vendor_redb::RedbStore;

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.redb");
    let key = Key::new("p", "s").unwrap();
    let claim = ChangeKey::new("queue", "uri", "request").unwrap();
    let claim = ChangeRecord::new(claim, Metadata::default(), Timestamp::EPOCH);

    let store = RedbStore::open(&path).await.unwrap();
    let _ = store.create(claim.clone()).await.unwrap();
    let record = NewRecord::new(key.clone(), "data").unwrap();
    let written = store.put(record, Condition::None).await.unwrap();
    store
        .increment(&Key::new("p", "n").unwrap(), 2, None)
        .await
        .unwrap();
    drop(store);

    let store = RedbStore::open(&path).await.unwrap();
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), [claim]);
    assert_eq!(store.get(&key).await.unwrap(), written);
    let counted = store.increment(&Key::new("p", "n").unwrap(), 0, None).await;
    assert_eq!(counted.unwrap(), 2);
}

#[tokio::test]
async fn a_file_that_is_open_is_unavailable_for_now() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.redb");
    let _open = RedbStore::open(&path).await.unwrap();
    let error = RedbStore::open(&path).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(error.is_retryable());
    assert_eq!(error.operation(), Some(Operation::Open));
}

#[tokio::test]
async fn a_file_of_another_program_is_corrupt() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "no database ".repeat(1_000)).unwrap();
    let error = RedbStore::open(&path).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn a_missing_folder_is_a_matter_of_configuration() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("missing").join("store.redb");
    let error = RedbStore::open(&path).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn tables_of_another_layout_are_a_matter_of_configuration() {
    const OTHER: TableDefinition<'_, u64, u64> = TableDefinition::new("changestore_claims");
    let folder = TempDir::new().unwrap();
    let database = Database::create(folder.path().join("store.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(OTHER).unwrap();
    transaction.commit().unwrap();
    let error = RedbStore::from_database(database).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
}
