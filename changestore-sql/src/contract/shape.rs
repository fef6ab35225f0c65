//! Whether the contract and the family's tables have the shape that their triggers were made for.
//!
//! The source's own check, in [`verify`](super::verify), compares the three triggers that the contract
//! names of a table. This one knows more of a contract that this crate has created: which objects belong to it,
//! and which triggers a table needs as it is now. It reads much of the schema, and is done once for each
//! version of it.

use changestore_core::Result;
use sqlx::sqlite::SqliteConnection;

use super::armed::why_unarmed;
use super::failure::{failed, is_schema};
use super::installed::{Installed, armed};
use super::objects::{self, Presence};

/// A contract that this crate has created has views where others may have tables.
const IS_OURS: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_schema
    WHERE type = 'view' AND name = 'change_contract_tables')";

/// The log's own trigger, which is told by the log's name while the rest of the contract can be read.
const IS_LOG_ARMED: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_schema
    WHERE type = 'trigger' AND name = 'change_contract_log_prune')";

const READABLE: &str = "SELECT count(*) FROM change_contract_sequence, change_contract_tables, change_contract_families";

/// The family's tables that there are, as what kind ever.
const PRESENT: &str = "SELECT DISTINCT f.table_name FROM change_contract_families f
    JOIN sqlite_schema m ON m.type IN ('table', 'view') AND m.name = f.table_name COLLATE NOCASE
    WHERE f.family = ?1 ORDER BY f.table_name";

/// Whether this crate has created the contract.
pub(super) async fn is_ours(connection: &mut SqliteConnection) -> Result<bool> {
    sqlx::query_scalar(IS_OURS)
        .fetch_one(connection)
        .await
        .map_err(failed)
}

/// Whether something of the contract, beside triggers, is missing or is not what this crate creates.
pub(super) async fn is_broken(connection: &mut SqliteConnection) -> Result<bool> {
    if objects::presence(connection).await? == Presence::Whole {
        return Ok(false);
    }
    let is_log_armed: bool = sqlx::query_scalar(IS_LOG_ARMED)
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if is_log_armed {
        return Ok(true);
    }
    match sqlx::query(READABLE).execute(connection).await {
        Ok(_) => Ok(false),
        Err(error) if is_schema(&error) => Ok(true),
        Err(error) => Err(failed(error)),
    }
}

/// A table of the family whose triggers are not those that it needs now.
pub(super) async fn unarmed_table(
    connection: &mut SqliteConnection,
    family: &str,
) -> Result<Option<String>> {
    let installed = Installed::read(connection).await?;
    let armed = armed(connection).await?;
    let present: Vec<String> = sqlx::query_scalar(PRESENT)
        .bind(family)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    for table in present {
        let is_armed = match installed.definition(&table) {
            Some(definition) => why_unarmed(connection, &installed, definition, &armed)
                .await?
                .is_none(),
            None => false,
        };
        if !is_armed {
            return Ok(Some(table));
        }
    }
    Ok(None)
}
