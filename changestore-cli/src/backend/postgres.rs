//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, for PostgreSQL.

use async_trait::async_trait;
use changestore_sql::{PostgresOptions, PostgresStore, schema};

use super::sql::{message_of, steps};
use super::{Access, Backend, Close, Opened, SchemaStep};
use crate::failure::Result;

pub(super) struct Postgres;

#[async_trait]
impl Backend for Postgres {
    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn takes_a_user(&self) -> bool {
        true
    }

    fn check(&self, url: &str) -> Result<(), String> {
        match PostgresOptions::new(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(message_of(&error)),
        }
    }

    /// Never touches the schema: the database may be others' too, and its user may lack the right.
    async fn open(&self, url: &str, _access: Access) -> Result<Opened> {
        let store = PostgresStore::open(url).await?;
        Ok(Opened::new(store.clone(), Some(Box::new(store))))
    }

    async fn apply_schema(&self, url: &str) -> Result<()> {
        Ok(PostgresStore::migrate_with(PostgresOptions::new(url)?).await?)
    }

    fn schema(&self) -> Vec<SchemaStep> {
        steps(schema::postgres())
    }
}

#[async_trait]
impl Close for PostgresStore {
    async fn close(self: Box<Self>) {
        PostgresStore::close(&self).await;
    }
}
