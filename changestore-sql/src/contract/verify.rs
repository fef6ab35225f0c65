//! Whether the contract is there, of a known version, and armed; and which tables it tracks.
//!
//! Triggers come and go by DDL alone, DDL raises the schema version, and a table that joins a family raises the
//! generation. A contract that was found whole is therefore not looked at again while these stand, and the family
//! has as many tables as before: looking costs a search of the schema for every table.

use std::collections::HashMap;
use std::sync::Arc;

use changestore_core::{Error, Result};
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::cursor::Cursor;
use super::decide::RebuildReason;
use super::failure::failed;
use super::fetch_sql::Statement;
use super::observe::{LastChanges, Observed};
use super::shape;

/// The version of the contract that this reader knows.
const VERSION: i64 = 1;

/// How many of the contract's five there are, as tables or as views; less than all is no contract.
const PRESENT: &str =
    "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name IN (
    'change_contract_state', 'change_contract_sequence', 'change_contract_tables',
    'change_contract_families', 'change_contract_log')";

/// The log's own trigger comes last: a table's name says more.
const UNARMED: &str = "
    SELECT f.table_name FROM change_contract_families f
    JOIN sqlite_schema m ON m.type = 'table' AND m.name = f.table_name
    LEFT JOIN change_contract_tables t ON t.table_name = f.table_name
    WHERE f.family = ?1
      AND (t.table_id IS NULL OR (SELECT count(*) FROM sqlite_schema s
           WHERE s.type = 'trigger' AND s.tbl_name = t.table_name
             AND s.sql IN (t.insert_trigger, t.update_trigger, t.delete_trigger)) <> 3)
    UNION ALL
    SELECT 'change_contract_log' WHERE (
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'trigger' AND name = 'change_contract_log_prune') <> 1
    LIMIT 1";

const TRACKED: &str = "
    SELECT t.table_id, t.table_name, t.key_columns, t.mode, (
      SELECT json_group_array(c.name) FROM pragma_table_xinfo(t.table_name) c WHERE c.hidden = 2)
    FROM change_contract_families f
    JOIN change_contract_tables t ON t.table_name = f.table_name
    WHERE f.family = ?1";

const LISTED: &str = "SELECT count(*) FROM change_contract_families WHERE family = ?1";

const FAMILIES: &str = "SELECT DISTINCT family FROM change_contract_families ORDER BY family";

/// The collations of the primary keys, by table and column; a rowid has none.
const COLLATIONS: &str = "
    SELECT t.table_id, x.name, x.coll FROM change_contract_families f
    JOIN change_contract_tables t ON t.table_name = f.table_name
    JOIN pragma_index_list(t.table_name) i ON i.origin = 'pk'
    JOIN pragma_index_xinfo(i.name) x ON x.key = 1
    WHERE f.family = ?1";

/// A tracked table, as a change names it and as its rows are found.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: Arc<str>,
    pub(super) key_columns: Arc<[String]>,
    /// One for each column of the key.
    pub(super) key_collations: Box<[Collation]>,
    /// The columns whose values SQLite makes when they are read.
    pub(super) virtual_columns: Box<[String]>,
}

/// What a key's index is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Collation {
    Binary,
    NoCase,
    RTrim,
}

impl Collation {
    /// A collation that an application brings along is not known here. Its index cannot be used then; the
    /// comparison byte by byte finds the row without it.
    fn of(name: &str) -> Self {
        if name.eq_ignore_ascii_case("NOCASE") {
            Self::NoCase
        } else if name.eq_ignore_ascii_case("RTRIM") {
            Self::RTrim
        } else {
            Self::Binary
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "BINARY",
            Self::NoCase => "NOCASE",
            Self::RTrim => "RTRIM",
        }
    }

    /// Whether it holds different texts to be the same.
    pub(super) const fn merges(self) -> bool {
        !matches!(self, Self::Binary)
    }
}

/// A family's tables.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) by_id: HashMap<i64, Table>,
    /// How many tables the family has, those among them that are not tracked.
    listed: i64,
    /// Whether every change of theirs has its entry in the log: all are in rows mode.
    pub(super) journaled: bool,
    pub(super) last_changes: LastChanges,
    /// A JSON array of the identifiers.
    pub(super) ids: String,
}

/// A contract that was found whole and armed for a family.
#[derive(Debug)]
pub(super) struct Verified {
    epoch: String,
    generation: i64,
    schema_version: i64,
    pub(super) tables: Tables,
    /// The statement of the last fetch.
    pub(super) fetch: Option<Statement>,
}

impl Verified {
    pub(super) fn new(tables: Tables, now: &Cursor) -> Self {
        Self {
            epoch: now.epoch.clone(),
            generation: now.generation,
            schema_version: now.schema_version,
            tables,
            fetch: None,
        }
    }

    /// Whether it still is, by what can have changed since.
    pub(super) fn holds(&self, observed: &Observed) -> bool {
        let now = &observed.seen.now;
        observed.version == VERSION
            && observed
                .listed
                .is_none_or(|listed| listed == self.tables.listed)
            && self.epoch == now.epoch
            && self.generation == now.generation
            && self.schema_version == now.schema_version
    }
}

/// What there is to verify.
pub(super) enum Condition {
    /// No cursor can be had from it.
    Unusable(RebuildReason),
    Usable {
        /// A table, or the log, that has not got its triggers.
        unarmed: Option<String>,
        last_changes: LastChanges,
    },
}

/// Steps 1 and 2, up to the cursor.
pub(super) async fn condition(
    connection: &mut SqliteConnection,
    family: &str,
) -> Result<Condition> {
    let present: i64 = sqlx::query_scalar(PRESENT)
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if present < 5 {
        return Ok(Condition::Unusable(RebuildReason::Absent));
    }
    // Alone: of another version nothing else is known.
    let version: Option<i64> =
        sqlx::query_scalar("SELECT contract_version FROM change_contract_state")
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed)?;
    match version {
        None => return Ok(Condition::Unusable(RebuildReason::Absent)),
        Some(VERSION) => {}
        Some(other) => {
            return Ok(Condition::Unusable(RebuildReason::UnknownVersion(other)));
        }
    }
    let is_ours = shape::is_ours(connection).await?;
    if is_ours && shape::is_broken(connection).await? {
        return Ok(Condition::Unusable(RebuildReason::Absent));
    }
    let mut unarmed: Option<String> = sqlx::query_scalar(UNARMED)
        .bind(family)
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed)?;
    if is_ours && unarmed.is_none() {
        unarmed = shape::unarmed_table(connection, family).await?;
    }
    let last_changes = if is_ours {
        LastChanges::Positions
    } else {
        LastChanges::Tables
    };
    Ok(Condition::Usable {
        unarmed,
        last_changes,
    })
}

/// The family's tables that are tracked; none where there is no such family.
pub(super) async fn tables(
    connection: &mut SqliteConnection,
    family: &str,
    last_changes: LastChanges,
) -> Result<Tables> {
    let rows = sqlx::query(TRACKED)
        .bind(family)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    let collations = collations(connection, family).await?;
    let mut by_id = HashMap::with_capacity(rows.len());
    let mut journaled = true;
    for row in rows {
        let id = row.try_get(0).map_err(failed)?;
        let mode: &str = row.try_get(3).map_err(failed)?;
        journaled &= mode == "rows";
        let name: String = row.try_get(1).map_err(failed)?;
        let key_columns = names(&name, row.try_get(2).map_err(failed)?)?;
        let virtual_columns = names(&name, row.try_get(4).map_err(failed)?)?;
        let of_column = |column: &String| {
            let known = collations.get(&(id, column.clone()));
            known.copied().unwrap_or(Collation::Binary)
        };
        let table = Table {
            name: name.into(),
            key_collations: key_columns.iter().map(of_column).collect(),
            key_columns: key_columns.into(),
            virtual_columns: virtual_columns.into(),
        };
        by_id.insert(id, table);
    }
    let ids: Vec<_> = by_id.keys().collect();
    let ids = serde_json::json!(ids).to_string();
    let listed = sqlx::query_scalar(LISTED)
        .bind(family)
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    Ok(Tables {
        by_id,
        listed,
        journaled,
        last_changes,
        ids,
    })
}

/// Names of a table's columns. A table in table mode has no key.
fn names(table: &str, stored: Option<&str>) -> Result<Vec<String>> {
    let Some(stored) = stored else {
        return Ok(Vec::new());
    };
    serde_json::from_str(stored).map_err(|error| {
        Error::corrupt(format!(
            "columns of {table:?} are not a JSON array of names"
        ))
        .with_source(error)
    })
}

async fn collations(
    connection: &mut SqliteConnection,
    family: &str,
) -> Result<HashMap<(i64, String), Collation>> {
    let rows = sqlx::query(COLLATIONS)
        .bind(family)
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    rows.into_iter()
        .map(|row| {
            let column = (row.try_get(0)?, row.try_get(1)?);
            Ok((column, Collation::of(row.try_get(2)?)))
        })
        .collect::<Result<_, sqlx::Error>>()
        .map_err(failed)
}

/// A family without tables never changes: a mistyped name must not look like that. None for a family whose tables are
/// all still to be created.
pub(super) async fn unknown_family(
    connection: &mut SqliteConnection,
    family: &str,
) -> Option<Error> {
    let known: Result<Vec<String>, _> = sqlx::query_scalar(FAMILIES).fetch_all(connection).await;
    Some(match known {
        Ok(known) if known.iter().any(|known| known == family) => return None,
        Ok(known) if known.is_empty() => {
            Error::invalid_argument("family", "the archive has no families")
        }
        Ok(known) => Error::invalid_argument(
            "family",
            format!(
                "the archive has no family {family:?}, it has {}",
                known.join(", ")
            ),
        ),
        Err(error) => failed(error),
    })
}
