//! Rows that no store has written, in tables whose checks are gone.

use async_trait::async_trait;
use changestore_core::{ManualClock, Timestamp};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, query};
use storetest::corruption::{self, Field, Row, Tally, Value, Vandal};
use tokio::sync::Mutex;

use crate::server::{direct, execute, open, prefix, shared, with_prefix};

/// The same tables without checks, and with columns that may be NULL.
const LOOSE: &str = "\
DROP TABLE {}claims;
CREATE TABLE {}claims (
    queue VARBINARY(255), uri VARBINARY(768), request_id VARBINARY(255),
    version BIGINT NULL, created_at BIGINT NULL, updated_at BIGINT NULL,
    metadata MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    PRIMARY KEY (queue, uri, request_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
DROP TABLE {}documents;
CREATE TABLE {}documents (
    pk VARBINARY(1024), sk VARBINARY(1024),
    expire_at BIGINT NULL, counter BIGINT NULL, version BIGINT NULL,
    etag VARBINARY(200) NULL, data MEDIUMBLOB NULL,
    PRIMARY KEY (pk, sk)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC";

#[derive(Debug)]
struct Direct {
    connection: Mutex<MySqlConnection>,
    prefix: String,
}

#[async_trait]
impl Vandal for Direct {
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool {
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
        let (table, wanted, key) = match row {
            Row::Document(key) => ("documents", "pk = ? AND sk = ?", vec![key.pk(), key.sk()]),
            Row::Claim(key) => (
                "claims",
                "queue = ? AND uri = ? AND request_id = ?",
                vec![key.queue(), key.uri(), key.request_id()],
            ),
        };
        let sql = format!(
            "UPDATE {}{table} SET {column} = ? WHERE {wanted}",
            self.prefix
        );
        let sql = query(AssertSqlSafe(sql));
        let update = match (value, field) {
            (Value::Nothing, _) => sql.bind(None::<i64>),
            // The type of a column is no constraint that could be taken away, and bytes have no types.
            (Value::Integer(_), Field::Etag | Field::Data | Field::Metadata) => return false,
            (Value::Integer(number), _) => sql.bind(*number),
            (Value::Text(text), Field::Etag) if text.len() <= 200 => {
                sql.bind(text.clone().into_bytes())
            }
            (Value::Text(text), Field::Metadata) => sql.bind(text.clone()),
            (Value::Bytes(bytes), Field::Etag | Field::Data) => sql.bind(bytes.clone()),
            _ => return false,
        };
        let update = key
            .into_iter()
            .fold(update, |update, part| update.bind(part.as_bytes().to_vec()));
        let mut connection = self.connection.lock().await;
        update.execute(&mut *connection).await.unwrap();
        true
    }
}

/// Tables that take anything, in the place of those of the schema.
async fn loose(prefix: &str) -> Direct {
    let mut connection = direct(shared()).await;
    execute(&mut connection, &LOOSE.replace("{}", prefix)).await;
    Direct {
        connection: Mutex::new(connection),
        prefix: prefix.to_owned(),
    }
}

fn check(tally: Tally) {
    assert!(tally.spoiled > 100, "{tally:?}");
    assert!(tally.corrupt > tally.spoiled / 2, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB"]
async fn spoiled_documents_are_told_and_harm_nobody() {
    let prefix = prefix();
    let now = Timestamp::from_millis(1_795_996_800_000).unwrap();
    let options = with_prefix(&shared().url(), &prefix).with_clock(ManualClock::new(now));
    let store = open(options).await;
    let direct = loose(&prefix).await;
    check(corruption::documents(&store, &direct, now, 1, 40).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB"]
async fn spoiled_claims_are_told_and_harm_nobody() {
    let prefix = prefix();
    let store = open(with_prefix(&shared().url(), &prefix)).await;
    let direct = loose(&prefix).await;
    check(corruption::claims(&store, &direct, 1, 40).await);
}
