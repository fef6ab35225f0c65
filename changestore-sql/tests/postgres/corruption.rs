//! Rows that no store has written, in tables whose checks are gone.

use async_trait::async_trait;
use changestore_core::{ManualClock, Timestamp};
use changestore_sql::PostgresStore;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};
use storetest::corruption::{self, Field, Row, Tally, Value, Vandal};
use tokio::sync::Mutex;

use super::server::{Schema, connect, run};

#[derive(Debug)]
struct Direct {
    connection: Mutex<PgConnection>,
    schema: String,
}

#[async_trait]
impl Vandal for Direct {
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool {
        let (column, kind) = match field {
            Field::Version => ("version", "bigint"),
            Field::Etag => ("etag", "text"),
            Field::ExpireAt => ("expire_at", "bigint"),
            Field::Data => ("data", "bytea"),
            Field::Counter => ("counter", "bigint"),
            Field::Metadata => ("metadata", "text"),
            Field::CreatedAt => ("created_at", "bigint"),
            Field::UpdatedAt => ("updated_at", "bigint"),
        };
        let (table, wanted, key) = match row {
            Row::Document(key) => ("documents", "pk = $2 AND sk = $3", vec![key.pk(), key.sk()]),
            Row::Claim(key) => (
                "claims",
                "queue = $2 AND uri = $3 AND request_id = $4",
                vec![key.queue(), key.uri(), key.request_id()],
            ),
        };
        let sql = format!(
            "UPDATE {}.changestore_{table} SET {column} = $1 WHERE {wanted}",
            self.schema
        );
        let sql = sqlx::query(AssertSqlSafe(sql));
        let update = match (value, kind) {
            (Value::Nothing, "bigint") => sql.bind(None::<i64>),
            (Value::Nothing, "text") => sql.bind(None::<String>),
            (Value::Nothing, _) => sql.bind(None::<Vec<u8>>),
            (Value::Integer(number), "bigint") => sql.bind(*number),
            (Value::Text(text), "text") => sql.bind(text.clone()),
            (Value::Bytes(bytes), "bytea") => sql.bind(bytes.clone()),
            // The type of a column is no constraint that could be taken away.
            _ => return false,
        };
        let update = key
            .into_iter()
            .fold(update, |update, part| update.bind(part.to_owned()));
        let mut connection = self.connection.lock().await;
        let updated = update.execute(&mut *connection).await.unwrap();
        assert_eq!(updated.rows_affected(), 1);
        true
    }
}

/// Drops every CHECK and NOT NULL but those of the keys.
async fn without_checks(schema: &Schema) -> Direct {
    let mut connection = connect().await;
    let name = &schema.0;
    for table in ["claims", "documents"] {
        let sql = format!(
            "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
             FROM pg_constraint
             WHERE conrelid = '{name}.changestore_{table}'::regclass AND contype = 'c'
             UNION ALL
             SELECT format('ALTER TABLE %s ALTER %I DROP NOT NULL', attrelid::regclass, attname)
             FROM pg_attribute
             WHERE attrelid = '{name}.changestore_{table}'::regclass AND attnotnull AND attnum > 0
                 AND attname NOT IN ('queue', 'uri', 'request_id', 'pk', 'sk')"
        );
        let found = sqlx::query(AssertSqlSafe(sql));
        for row in found.fetch_all(&mut connection).await.unwrap() {
            run(&mut connection, row.get::<String, _>(0)).await;
        }
    }
    Direct {
        connection: Mutex::new(connection),
        schema: name.clone(),
    }
}

fn check(tally: Tally) {
    assert!(tally.spoiled > 100, "{tally:?}");
    assert!(tally.corrupt > tally.spoiled / 2, "{tally:?}");
}

pub(crate) async fn spoiled_documents_are_told_and_harm_nobody() {
    let schema = Schema::new().await;
    let direct = without_checks(&schema).await;
    let now = Timestamp::from_millis(1_795_996_800_000).unwrap();
    let options = schema.options().with_clock(ManualClock::new(now));
    let store = PostgresStore::open_with(options).await.unwrap();
    check(corruption::documents(&store, &direct, now, 1, 40).await);
    schema.drop().await;
}

pub(crate) async fn spoiled_claims_are_told_and_harm_nobody() {
    let schema = Schema::new().await;
    let direct = without_checks(&schema).await;
    check(corruption::claims(&schema.store().await, &direct, 1, 40).await);
    schema.drop().await;
}
