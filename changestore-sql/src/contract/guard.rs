//! Whether a database is the one that the owner means: what its schema version has to be.

use changestore_core::{Error, ErrorKind, Operation, Result};
use sqlx::sqlite::SqliteConnection;

use super::failure::{failed, is_schema};
use crate::schema;

/// Which schema a database must have for the contract to be touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaGuard {
    /// This library's own, wholly migrated.
    OurMigrations,
    /// One whose `PRAGMA user_version` is this.
    UserVersion(i64),
    /// Any.
    Unchecked,
}

impl SchemaGuard {
    /// Refuses another schema.
    pub(super) async fn check(self, connection: &mut SqliteConnection) -> Result<()> {
        let message = match self {
            Self::Unchecked => return Ok(()),
            Self::UserVersion(expected) => {
                let found: i64 = sqlx::query_scalar("PRAGMA user_version")
                    .fetch_one(connection)
                    .await
                    .map_err(failed)?;
                if found == expected {
                    return Ok(());
                }
                format!("the database's user_version is {found}, not {expected}")
            }
            Self::OurMigrations => {
                let applied: Result<Vec<i64>, _> = sqlx::query_scalar(
                    "SELECT version FROM changestore_migrations ORDER BY version",
                )
                .fetch_all(connection)
                .await;
                let applied = match applied {
                    Ok(applied) => applied,
                    Err(error) if is_schema(&error) => Vec::new(),
                    Err(error) => return Err(failed(error)),
                };
                let known: Vec<_> = schema::sqlite().iter().map(|known| known.version).collect();
                if applied == known {
                    return Ok(());
                }
                match applied.last() {
                    None => "the database has no changestore tables".to_owned(),
                    Some(last) => format!(
                        "the database's changestore schema ends with version {last}, not {}",
                        known.last().unwrap_or(&0)
                    ),
                }
            }
        };
        Err(Error::new(ErrorKind::Configuration)
            .with_backend("sqlite")
            .with_operation(Operation::Open)
            .with_message(message))
    }
}
