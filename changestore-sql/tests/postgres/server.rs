//! The server that the tests work on, and a schema for each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use changestore_core::{ChangeKey, ChangeRecord, Key, Metadata, NewRecord, Timestamp};
use changestore_sql::{PostgresOptions, PostgresStore};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

pub(crate) fn url() -> String {
    std::env::var("CHANGESTORE_POSTGRES_URL")
        .expect("CHANGESTORE_POSTGRES_URL is not set; run cargo xtask conformance")
}

pub(crate) async fn connect() -> PgConnection {
    PgConnection::connect(&url()).await.unwrap()
}

pub(crate) async fn run(connection: &mut PgConnection, sql: impl Into<String>) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
    connection.execute(sql).await.unwrap();
}

/// A name that nothing else has.
pub(crate) fn new_name(what: &str) -> String {
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (process, number) = (std::process::id(), NAMES.fetch_add(1, Ordering::Relaxed));
    format!("{what}_{process}_{}_{number}", begun.as_millis())
}

/// A schema with the tables; a test that passes drops it.
pub(crate) struct Schema(pub(crate) String);

impl Schema {
    pub(crate) async fn new() -> Self {
        let schema = Self(new_name("test"));
        PostgresStore::migrate_with(schema.options()).await.unwrap();
        schema
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions::new(&url())
            .unwrap()
            .with_schema(&self.0)
            .unwrap()
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::open_with(self.options()).await.unwrap()
    }

    pub(crate) async fn drop(self) {
        run(
            &mut connect().await,
            format!("DROP SCHEMA {} CASCADE", self.0),
        )
        .await;
    }
}

pub(crate) fn key(sk: &str) -> Key {
    Key::new("partition", sk).unwrap()
}

pub(crate) fn record(sk: &str) -> NewRecord {
    NewRecord::new(key(sk), "data").unwrap()
}

pub(crate) fn claim(request_id: &str) -> ChangeRecord {
    let key = ChangeKey::new("queue", "uri", request_id).unwrap();
    ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH)
}
