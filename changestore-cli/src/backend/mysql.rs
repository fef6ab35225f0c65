//! `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, for MySQL and MariaDB.

use async_trait::async_trait;
use changestore_sql::{MySqlOptions, MySqlStore, schema};

use super::sql::{message_of, steps};
use super::{Access, Backend, Close, Opened, SchemaStep};
use crate::failure::Result;

pub(super) struct MySql;

#[async_trait]
impl Backend for MySql {
    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn takes_a_user(&self) -> bool {
        true
    }

    fn check(&self, url: &str) -> Result<(), String> {
        match MySqlOptions::new(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(message_of(&error)),
        }
    }

    /// Never touches the schema: the database may be others' too, and its user may lack the right.
    async fn open(&self, url: &str, _access: Access) -> Result<Opened> {
        let store = MySqlStore::open(url).await?;
        Ok(Opened::new(store.clone(), Some(Box::new(store))))
    }

    async fn apply_schema(&self, url: &str) -> Result<()> {
        Ok(MySqlStore::migrate_with(MySqlOptions::new(url)?).await?)
    }

    fn schema(&self) -> Vec<SchemaStep> {
        steps(schema::mysql())
    }
}

#[async_trait]
impl Close for MySqlStore {
    async fn close(self: Box<Self>) {
        MySqlStore::close(&self).await;
    }
}
