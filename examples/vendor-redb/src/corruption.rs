//! What this crate cannot have written is reported as corrupt, never read as something else.

use changestore_core::{
    ChangeStore, Condition, DocumentStore, DocumentStoreExt, ErrorKind, Key, QueryOptions,
};
use redb::Database;
use redb::backends::InMemoryBackend;

use crate::RedbStore;
use crate::tables::{CLAIMS, COUNTERS, RECORDS};

async fn store() -> RedbStore {
    let database = Database::builder().create_with_backend(InMemoryBackend::new());
    RedbStore::from_database(database.unwrap()).await.unwrap()
}

fn is_corrupt<T: std::fmt::Debug>(result: changestore_core::Result<T>) {
    assert_eq!(*result.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn an_impossible_claim_is_corrupt() {
    let store = store().await;
    for impossible in [
        (0, 0, 0, "{}"),
        (-1, 0, 0, "{}"),
        (1, -1, 0, "{}"),
        (1, 0, i64::MAX, "{}"),
        (1, 0, 0, "{"),
    ] {
        let put = store.write(move |transaction| {
            transaction
                .open_table(CLAIMS)?
                .insert(("q", "u", "r"), impossible)?;
            Ok(())
        });
        put.await.unwrap();
        is_corrupt(store.get_by_uri("q", "u").await);
    }
}

#[tokio::test]
async fn an_impossible_record_is_corrupt() {
    let store = store().await;
    let key = Key::new("p", "s").unwrap();
    let long = "e".repeat(65);
    for (version, expire_at, etag) in [
        (0, None, "e"),
        (-1, None, "e"),
        (1, Some(-1), "e"),
        (1, None, ""),
        (1, None, &*long),
    ] {
        let etag = etag.to_owned();
        let put = store.write(move |transaction| {
            let mut records = transaction.open_table(RECORDS)?;
            records.insert(("p", "s"), (version, expire_at, &*etag, &b"data"[..]))?;
            Ok(())
        });
        put.await.unwrap();
        is_corrupt(store.get(&key).await);
        is_corrupt(store.query_all("p", "", QueryOptions::default()).await);
        is_corrupt(store.delete(&key, Condition::None).await);
    }
}

#[tokio::test]
async fn an_impossible_counter_is_corrupt() {
    let store = store().await;
    let put = store.write(|transaction| {
        transaction
            .open_table(COUNTERS)?
            .insert(("p", "s"), (1, Some(-1)))?;
        Ok(())
    });
    put.await.unwrap();
    is_corrupt(store.increment(&Key::new("p", "s").unwrap(), 1, None).await);
}

#[tokio::test]
async fn a_panic_of_the_engine_is_an_error_and_lets_go_of_the_writers_turn() {
    let store = store().await;
    let panicked = store
        .write(|_| -> Result<(), _> { panic!("a damaged page") })
        .await;
    assert_eq!(*panicked.unwrap_err().kind(), ErrorKind::Other);
    let key = Key::new("p", "s").unwrap();
    assert_eq!(store.increment(&key, 1, None).await.unwrap(), 1);
}
