//! What this crate cannot have written is reported as corrupt, never read as something else.

use async_trait::async_trait;
use changestore_core::{DocumentStore, ErrorKind, Key, ManualClock, Timestamp};
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableTable};
use storetest::corruption::{self, Field, Row, Tally, Value, Vandal};

use crate::RedbStore;
use crate::tables::{CLAIMS, COUNTERS, RECORDS};

async fn store() -> RedbStore {
    let database = Database::builder().create_with_backend(InMemoryBackend::new());
    RedbStore::from_database(database.unwrap()).await.unwrap()
}

/// The suite's hand under the store. redb's tables are typed: a row has all of its fields, and each holds what its
/// type can.
#[derive(Debug)]
struct Under(RedbStore);

#[async_trait]
impl Vandal for Under {
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool {
        let (row, value) = (row.clone(), value.clone());
        let spoil = self.0.write(move |transaction| {
            Ok(match row {
                Row::Claim(key) => {
                    let mut claims = transaction.open_table(CLAIMS)?;
                    let key = (key.queue(), key.uri(), key.request_id());
                    let stored = claims.get(key)?.expect("a claim");
                    let (mut version, mut created, mut updated, metadata) = stored.value();
                    let mut metadata = metadata.to_owned();
                    drop(stored);
                    match (field, value) {
                        (Field::Version, Value::Integer(value)) => version = value,
                        (Field::CreatedAt, Value::Integer(value)) => created = value,
                        (Field::UpdatedAt, Value::Integer(value)) => updated = value,
                        (Field::Metadata, Value::Text(value)) => metadata = value,
                        _ => return Ok(false),
                    }
                    claims.insert(key, (version, created, updated, &*metadata))?;
                    true
                }
                Row::Document(key) if field == Field::Counter => {
                    let mut counters = transaction.open_table(COUNTERS)?;
                    let key = (key.pk(), key.sk());
                    let stored = counters.get(key)?.map(|stored| stored.value());
                    match (stored, value) {
                        (Some((_, expire_at)), Value::Integer(value)) => {
                            counters.insert(key, (value, expire_at))?;
                            true
                        }
                        // A record's row has no such field.
                        (None, Value::Nothing) => true,
                        _ => false,
                    }
                }
                Row::Document(key) => {
                    let mut records = transaction.open_table(RECORDS)?;
                    let key = (key.pk(), key.sk());
                    let stored = records.get(key)?.expect("a record");
                    let (mut version, mut expire_at, etag, data) = stored.value();
                    let (mut etag, mut data) = (etag.to_owned(), data.to_owned());
                    drop(stored);
                    match (field, value) {
                        (Field::Version, Value::Integer(value)) => version = value,
                        (Field::ExpireAt, Value::Integer(value)) => expire_at = Some(value),
                        (Field::ExpireAt, Value::Nothing) => expire_at = None,
                        (Field::Etag, Value::Text(value)) => etag = value,
                        (Field::Data, Value::Bytes(value)) => data = value,
                        _ => return Ok(false),
                    }
                    records.insert(key, (version, expire_at, &*etag, &*data))?;
                    true
                }
            })
        });
        spoil.await.unwrap()
    }
}

fn check(tally: Tally) {
    assert!(tally.spoiled > 60, "{tally:?}");
    assert!(tally.corrupt > tally.spoiled / 2, "{tally:?}");
}

#[tokio::test]
async fn spoiled_documents_are_told_and_harm_nobody() {
    let now = Timestamp::from_millis(1_795_996_800_000).unwrap();
    let store = store().await.with_clock(ManualClock::new(now));
    let under = Under(store.clone());
    check(corruption::documents(&store, &under, now, 1, 100).await);
}

#[tokio::test]
async fn spoiled_claims_are_told_and_harm_nobody() {
    let store = store().await;
    let under = Under(store.clone());
    check(corruption::claims(&store, &under, 1, 100).await);
}

#[tokio::test]
async fn an_impossible_expiry_of_a_counter_is_corrupt() {
    let store = store().await;
    let key = Key::new("p", "s").unwrap();
    for expire_at in [-1, i64::MIN, i64::MAX] {
        let put = store.write(move |transaction| {
            transaction
                .open_table(COUNTERS)?
                .insert(("p", "s"), (1, Some(expire_at)))?;
            Ok(())
        });
        put.await.unwrap();
        let counted = store.increment(&key, 1, None).await;
        assert_eq!(*counted.unwrap_err().kind(), ErrorKind::Corrupt);
    }
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
