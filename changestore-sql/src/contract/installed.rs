//! What a contract that is there says of itself.

use std::collections::{BTreeMap, BTreeSet};

use changestore_core::Result;
use serde::Serialize;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::failure::failed;

/// Where a contract's sequence is: all of a reader's cursor but the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// Changes when the contract is created anew.
    pub epoch: String,
    /// Advances when changes may have been missed.
    pub generation: i64,
    /// SQLite's own count of schema changes.
    pub schema_version: i64,
    /// The number of the latest journaled change.
    pub seq: i64,
}

/// A tracked table, as the contract has it.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) mode: String,
    pub(super) key_columns: Option<String>,
    pub(super) last_seq: i64,
    pub(super) triggers: [Option<String>; 3],
}

/// A whole contract's content, but for the log.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) position: Position,
    pub(super) reason: Option<String>,
    pub(super) retention: i64,
    pub(super) pruned_through: i64,
    pub(super) definitions: Vec<Definition>,
    pub(super) families: BTreeMap<String, BTreeSet<String>>,
    /// All triggers that tracked tables should have: SQL by name, and whose.
    pub(super) triggers: BTreeMap<String, (i64, String)>,
}

pub(super) async fn position(connection: &mut SqliteConnection) -> Result<Position> {
    let row = sqlx::query(
        "SELECT s.epoch, s.generation, p.schema_version, q.value
         FROM change_contract_state s, change_contract_sequence q, pragma_schema_version p",
    )
    .fetch_one(connection)
    .await
    .map_err(failed)?;
    let read = || {
        Ok(Position {
            epoch: row.try_get(0)?,
            generation: row.try_get(1)?,
            schema_version: row.try_get(2)?,
            seq: row.try_get(3)?,
        })
    };
    read().map_err(failed)
}

impl Installed {
    pub(super) async fn read(connection: &mut SqliteConnection) -> Result<Self> {
        let position = position(connection).await?;
        let state = sqlx::query(
            "SELECT s.generation_reason, s.retention, q.pruned_through
             FROM change_contract_state s, change_contract_sequence q",
        )
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
        Ok(Self {
            position,
            reason: state.try_get(0).map_err(failed)?,
            retention: state.try_get(1).map_err(failed)?,
            pruned_through: state.try_get(2).map_err(failed)?,
            definitions: definitions(connection).await.map_err(failed)?,
            families: families(connection).await.map_err(failed)?,
            triggers: triggers(connection).await.map_err(failed)?,
        })
    }

    pub(super) fn definition(&self, table: &str) -> Option<&Definition> {
        self.definitions
            .iter()
            .find(|definition| definition.name.eq_ignore_ascii_case(table))
    }
}

async fn definitions(connection: &mut SqliteConnection) -> Result<Vec<Definition>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT table_id, table_name, mode, key_columns, last_seq,
             insert_trigger, update_trigger, delete_trigger
         FROM change_contract_tables ORDER BY table_name",
    )
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Definition {
                id: row.try_get(0)?,
                name: row.try_get(1)?,
                mode: row.try_get(2)?,
                key_columns: row.try_get(3)?,
                last_seq: row.try_get(4)?,
                triggers: [row.try_get(5)?, row.try_get(6)?, row.try_get(7)?],
            })
        })
        .collect()
}

async fn families(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, BTreeSet<String>>, sqlx::Error> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT family, table_name FROM change_contract_families")
            .fetch_all(connection)
            .await?;
    let mut families: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (family, table) in rows {
        families.entry(family).or_default().insert(table);
    }
    Ok(families)
}

async fn triggers(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, (i64, String)>, sqlx::Error> {
    let rows: Vec<(String, i64, String)> =
        sqlx::query_as("SELECT trigger_name, table_id, sql FROM change_contract_triggers")
            .fetch_all(connection)
            .await?;
    Ok(rows
        .into_iter()
        .map(|(name, id, sql)| (name, (id, sql)))
        .collect())
}

/// The contract's triggers on tables of the user's that the database really has: table and SQL by name.
pub(super) async fn armed(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, (String, String)>> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT name, tbl_name, sql FROM sqlite_schema
         WHERE type = 'trigger' AND name LIKE 'change\\_contract\\_%' ESCAPE '\\'
             AND name NOT IN ('change_contract_log_prune', 'change_contract_checkpoint')",
    )
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    Ok(rows
        .into_iter()
        .map(|(name, table, sql)| (name, (table, sql)))
        .collect())
}
