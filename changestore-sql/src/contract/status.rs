//! What there is of a contract, and whether it can be relied on.

use std::collections::{BTreeMap, BTreeSet};

use changestore_core::Result;
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

use super::armed::{Armed, why_unarmed};
use super::failure::failed;
use super::installed::{Definition, Installed, Position, armed};
use super::objects;
use super::plan::Mode;
use super::replace::uncovered;
use super::table_info::TableInfo;

pub use super::objects::Presence;

/// What the owner sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// How much of a contract there is. Only of a whole one anything else is known.
    pub presence: Presence,
    /// Where the sequence is.
    pub position: Option<Position>,
    /// Why the generation last advanced.
    pub generation_reason: Option<String>,
    /// Sequence values that the log keeps.
    pub retention: Option<u64>,
    /// Log entries up to this one may be gone.
    pub pruned_through: Option<i64>,
    /// How many entries the log has.
    pub log_entries: Option<u64>,
    /// The tracked tables by name.
    pub tables: Vec<TableStatus>,
    /// The families and their tables.
    pub families: BTreeMap<String, BTreeSet<String>>,
    /// What the owner had better know: changes that cannot be seen, tables that are missing or untracked.
    pub warnings: Vec<String>,
}

/// A tracked table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableStatus {
    /// Never given to another table.
    pub table_id: i64,
    /// The table.
    pub name: String,
    /// How much is recorded.
    pub mode: Mode,
    /// The key's columns in rows mode.
    pub key_columns: Vec<String>,
    /// The number of its latest journaled change, 0 if there was none.
    pub last_seq: i64,
    /// Why it is not armed; none if it is.
    pub unarmed: Option<String>,
}

pub(super) async fn status(connection: &mut SqliteConnection) -> Result<Status> {
    let presence = objects::presence(connection).await?;
    let mut status = Status {
        presence,
        position: None,
        generation_reason: None,
        retention: None,
        pruned_through: None,
        log_entries: None,
        tables: Vec::new(),
        families: BTreeMap::new(),
        warnings: Vec::new(),
    };
    if presence != Presence::Whole {
        return Ok(status);
    }
    let installed = Installed::read(connection).await?;
    let entries: i64 = sqlx::query_scalar("SELECT count(*) FROM change_contract_log")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let armed = armed(connection).await?;
    for definition in &installed.definitions {
        status
            .tables
            .push(table(connection, &installed, definition, &armed).await?);
        warn_of_table(connection, definition, &mut status.warnings).await?;
    }
    warn_of_families(connection, &installed, &mut status.warnings).await?;
    status.log_entries = u64::try_from(entries).ok();
    status.generation_reason = installed.reason;
    status.retention = u64::try_from(installed.retention).ok();
    status.pruned_through = Some(installed.pruned_through);
    status.families = installed.families;
    status.position = Some(installed.position);
    Ok(status)
}

async fn table(
    connection: &mut SqliteConnection,
    installed: &Installed,
    definition: &Definition,
    armed: &Armed,
) -> Result<TableStatus> {
    let mode = definition.mode.parse::<Mode>()?;
    let key_columns = definition.key_columns.as_deref();
    let key_columns = key_columns.and_then(|names| serde_json::from_str(names).ok());
    Ok(TableStatus {
        table_id: definition.id,
        name: definition.name.clone(),
        mode,
        key_columns: key_columns.unwrap_or_default(),
        last_seq: definition.last_seq,
        unarmed: why_unarmed(connection, installed, definition, armed).await?,
    })
}

async fn warn_of_table(
    connection: &mut SqliteConnection,
    definition: &Definition,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let name = &definition.name;
    let Some(info) = TableInfo::read(connection, name).await? else {
        return Ok(());
    };
    if let Some(key) = info
        .key
        .as_ref()
        .filter(|_| definition.mode == Mode::Rows.as_str())
    {
        for (index, why) in uncovered(&info, key) {
            warnings.push(format!(
                "{name:?}: the unique index {index:?} {why}; rows that REPLACE deletes through it \
                 are not journaled"
            ));
        }
    }
    Ok(())
}

async fn warn_of_families(
    connection: &mut SqliteConnection,
    installed: &Installed,
    warnings: &mut Vec<String>,
) -> Result<()> {
    for (family, tables) in &installed.families {
        for table in tables {
            let found = TableInfo::read(connection, table).await?;
            let message = match (found, installed.definition(table)) {
                (None, _) => "does not exist",
                (Some(_), None) => {
                    "is not tracked, so that the family's readers read everything at every poll"
                }
                (Some(_), Some(_)) => continue,
            };
            warnings.push(format!(
                "the family {family:?}: the table {table:?} {message}"
            ));
        }
    }
    Ok(())
}
