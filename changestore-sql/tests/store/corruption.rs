//! Rows that no store has written, in a file whose tables take anything.

use std::fmt;

use async_trait::async_trait;
use changestore_core::{ManualClock, Timestamp};
use changestore_sql::SqliteStore;
use parking_lot::Mutex;
use rusqlite::Connection;
use rusqlite::types::Value as Stored;
use storetest::corruption::{self, Field, Row, Value, Vandal};

use crate::File;

/// The same tables without types and without checks: what a bit on a broken disk makes of a row does not
/// ask for either.
const LOOSE: &str = "\
DROP TABLE changestore_claims;
CREATE TABLE changestore_claims (
    queue, uri, request_id, version, created_at, updated_at, metadata,
    PRIMARY KEY (queue, uri, request_id)
) WITHOUT ROWID;
DROP TABLE changestore_documents;
CREATE TABLE changestore_documents (
    pk, sk, expire_at, counter, version, etag, data,
    PRIMARY KEY (pk, sk)
) WITHOUT ROWID;";

struct Direct(Mutex<Connection>);

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

#[async_trait]
impl Vandal for Direct {
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool {
        let value = match value {
            Value::Nothing => Stored::Null,
            Value::Integer(number) => Stored::Integer(*number),
            Value::Text(text) => Stored::Text(text.clone()),
            Value::Bytes(bytes) => Stored::Blob(bytes.clone()),
        };
        let (table, wanted, key) = match row {
            Row::Document(key) => ("documents", "pk = ?2 AND sk = ?3", vec![key.pk(), key.sk()]),
            Row::Claim(key) => (
                "claims",
                "queue = ?2 AND uri = ?3 AND request_id = ?4",
                vec![key.queue(), key.uri(), key.request_id()],
            ),
        };
        let column = match field {
            Field::Version => "version",
            Field::Etag => "etag",
            Field::ExpireAt => "expire_at",
            Field::Data => "data",
            Field::Counter => "counter",
            Field::Metadata => "metadata",
            Field::CreatedAt => "created_at",
            Field::UpdatedAt => "updated_at",
        };
        let sql = format!("UPDATE changestore_{table} SET {column} = ?1 WHERE {wanted}");
        let mut parameters = vec![value];
        parameters.extend(key.into_iter().map(|part| Stored::Text(part.to_owned())));
        let parameters = rusqlite::params_from_iter(parameters);
        assert_eq!(self.0.lock().execute(&sql, parameters).unwrap(), 1);
        true
    }
}

async fn loose(file: &File, clock: ManualClock) -> (SqliteStore, Direct) {
    file.store().await.close().await;
    let direct = file.direct();
    direct.execute_batch(LOOSE).unwrap();
    // Nothing here is about what survives a power failure.
    direct.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let options = file.options().with_clock(clock);
    let store = SqliteStore::open_with(options).await.unwrap();
    (store, Direct(Mutex::new(direct)))
}

#[tokio::test]
async fn spoiled_documents_are_told_and_harm_nobody() {
    let file = File::new();
    let now = Timestamp::from_millis(1_795_996_800_000).unwrap();
    let (store, direct) = loose(&file, ManualClock::new(now)).await;
    let tally = corruption::documents(&store, &direct, now, 1, 12).await;
    assert_eq!(tally.impossible, 0);
    assert!(tally.corrupt > tally.spoiled, "{tally:?}");
}

#[tokio::test]
async fn spoiled_claims_are_told_and_harm_nobody() {
    let file = File::new();
    let (store, direct) = loose(&file, ManualClock::new(Timestamp::EPOCH)).await;
    let tally = corruption::claims(&store, &direct, 1, 12).await;
    assert_eq!(tally.impossible, 0);
    assert!(tally.corrupt > tally.spoiled / 2, "{tally:?}");
}
