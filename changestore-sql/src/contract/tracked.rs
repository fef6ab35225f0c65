//! A table that is to be tracked, with what that takes; or why it cannot be.

use changestore_core::{Error, Result};
use sqlx::sqlite::SqliteConnection;

use super::plan::Mode;
use super::table_info::{Kind, TableInfo};
use super::triggers::TableTriggers;

/// A table that can be tracked in this mode.
#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) info: TableInfo,
    pub(super) mode: Mode,
}

impl Tracked {
    /// # Errors
    /// [`InvalidArgument`](changestore_core::ErrorKind::InvalidArgument) with the table and the reason.
    pub(super) async fn find(
        connection: &mut SqliteConnection,
        name: &str,
        mode: Mode,
    ) -> Result<Self> {
        let Some(info) = TableInfo::read(connection, name).await? else {
            return Err(refused(name, "it does not exist"));
        };
        let reason = match info.kind {
            Kind::View => Some("it is a view, which no row is stored in".to_owned()),
            Kind::Virtual => {
                Some("it is a virtual table, which SQLite has no triggers for".to_owned())
            }
            Kind::Shadow if mode == Mode::Rows => Some(
                "it belongs to a virtual table, whose writes are not rows of the user's; track it \
                 in table mode"
                    .to_owned(),
            ),
            Kind::Shadow | Kind::Table => None,
        };
        if let Some(reason) = reason {
            return Err(refused(name, &reason));
        }
        if mode == Mode::Rows {
            check_key(&info)?;
        }
        Ok(Self { info, mode })
    }

    /// The names of the key's columns as a JSON array; none in table mode.
    pub(super) fn key_columns(&self) -> Option<String> {
        let key = self.info.key.as_ref().filter(|_| self.mode == Mode::Rows)?;
        Some(serde_json::Value::from(key.names()).to_string())
    }

    pub(super) fn triggers(&self, id: i64) -> TableTriggers {
        TableTriggers::new(&self.info, id, self.mode)
    }
}

fn check_key(info: &TableInfo) -> Result<()> {
    match &info.key {
        None => Err(refused(
            &info.name,
            "it has no primary key, and columns have taken all names of its row id; track it in \
             table mode",
        )),
        Some(key) => match &key.nullable {
            None => Ok(()),
            Some(column) => Err(refused(
                &info.name,
                &format!(
                    "its primary key can be NULL in the column {column:?}, so that two rows can \
                     have one key; declare it NOT NULL, or track the table in table mode"
                ),
            )),
        },
    }
}

fn refused(table: &str, reason: &str) -> Error {
    Error::invalid_argument("tables", format!("{table:?} cannot be tracked: {reason}"))
}
