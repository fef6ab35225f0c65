//! `sqlite:PATH`, or a path alone.

use anyhow::anyhow;
use async_trait::async_trait;
use changestore_sql::{SqliteOptions, SqliteStore, schema};

use super::sql::{message_of, steps};
use super::{Access, Backend, Close, Opened, SchemaStep};
use crate::failure::{Failure, Result};

pub(super) struct Sqlite;

#[async_trait]
impl Backend for Sqlite {
    fn schemes(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    fn check(&self, url: &str) -> Result<(), String> {
        match SqliteOptions::new(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(message_of(&error)),
        }
    }

    async fn open(&self, url: &str, access: Access) -> Result<Opened> {
        let options = SqliteOptions::new(url)?;
        let is_to_be_created = access == Access::Read && !options.path().exists();
        let opened = SqliteStore::open_with(match access {
            Access::Write => options,
            // Not even an empty database is left where somebody only looked.
            Access::Read => options.with_read_only(true),
        })
        .await;
        let store = match opened {
            Err(error) if is_to_be_created => {
                return Err(Failure::failed(anyhow!(
                    "{error}; `changestore schema apply` creates it, as does every command that writes"
                )));
            }
            opened => opened?,
        };
        Ok(Opened::new(store.clone(), Some(Box::new(store))))
    }

    async fn apply_schema(&self, url: &str) -> Result<()> {
        // A file is the store's alone: whoever opens it to write brings it up to date.
        self.open(url, Access::Write).await?.close().await;
        Ok(())
    }

    fn schema(&self) -> Vec<SchemaStep> {
        steps(schema::sqlite())
    }
}

#[async_trait]
impl Close for SqliteStore {
    /// The last connection that closes folds the write-ahead log into the database.
    async fn close(self: Box<Self>) {
        SqliteStore::close(&self).await;
    }
}
