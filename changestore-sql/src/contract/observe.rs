//! One statement that sees all that a decision needs, and the batch of log entries after the cursor.
//!
//! One SELECT is one snapshot. It does no more than what it finds makes necessary: `max(last_seq)` only where the
//! sequence is past the cursor, the log only where the family changed. A poll of an unchanged family
//! therefore costs the same at any size of the tables and of the log.

use std::sync::LazyLock;

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::cursor::Cursor;
use super::decide::Seen;
use super::identity::FileIdentity;
use super::packed::Packing;
use super::verify::Tables;

/// Where the latest change of each table is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastChanges {
    /// In a contract of this crate's: up to the last checkpoint all in one small table, and behind it in at most 64
    /// entries. Going through both takes less time than looking up each of the family's tables.
    Positions,
    /// In the table that every contract has, in rows that are large.
    Tables,
}

impl LastChanges {
    /// The latest change of the family's tables if it is after the cursor. What was written is asked whether it
    /// is of the family: few tables are written between two polls, however many the family has.
    const fn latest(self) -> &'static str {
        match self {
            Self::Positions => {
                "SELECT max(seq) FROM (
                   SELECT max(p.value) AS seq FROM change_contract_positions p
                   WHERE p.id > 0 AND p.value > ?2 AND EXISTS (
                     SELECT 1 FROM change_contract_definitions d JOIN change_contract_families f
                       ON f.family = ?4 AND f.table_name = d.table_name
                     WHERE d.table_id = p.id)
                   UNION ALL
                   SELECT max(e.seq) FROM change_contract_entries e
                   WHERE e.seq > max(?2,
                       (SELECT p.value FROM change_contract_positions p WHERE p.id = 0))
                     AND EXISTS (
                       SELECT 1 FROM change_contract_definitions d JOIN change_contract_families f
                         ON f.family = ?4 AND f.table_name = d.table_name
                       WHERE d.table_id = e.table_id))"
            }
            Self::Tables => {
                "SELECT max(t.last_seq) FROM change_contract_tables t
                 WHERE t.table_id IN (SELECT value FROM json_each(?1))"
            }
        }
    }
}

/// What a decision needs, as `seen` in one row. `?1` the identifiers of the family's tables, `?2` the cursor's
/// sequence, `?4` the family.
pub(super) fn seen(last_changes: LastChanges) -> String {
    let latest = last_changes.latest();
    format!(
        "seen AS MATERIALIZED (
           SELECT p.schema_version, s.epoch, s.generation, q.value, q.pruned_through,
             s.contract_version,
             CASE WHEN q.value > ?2 THEN (
               SELECT count(*) FROM change_contract_families f WHERE f.family = ?4) END AS listed,
             CASE WHEN q.value > ?2 THEN ({latest}) END AS last
           FROM change_contract_state s, change_contract_sequence q, pragma_schema_version p)"
    )
}

/// The columns that [`observed`] reads, of `seen`. `?5` whether there are tables in table mode.
pub(super) const SEEN_COLUMNS: &str = "schema_version, epoch, generation, value, pruned_through,
       contract_version, listed, last,
       CASE WHEN ?5 AND last > ?2 THEN (
         SELECT t.table_name FROM change_contract_tables t
         WHERE t.table_id IN (SELECT value FROM json_each(?1))
           AND t.mode = 'table' AND t.last_seq > ?2 LIMIT 1) END
         AS table_mode";

/// As `seen`, and `?3` the most log entries.
///
/// The log's entries come packed into one text, because each row that crosses over from the connection's thread
/// costs more than its reading. `+l.table_id` keeps the planner on the log's own order. A bare `LIMIT ?3` would have
/// SQLite prepare the statement anew for each bound value, which takes thirty times as long as the statement.
fn statement(last_changes: LastChanges) -> String {
    let entry = Packing::Lossless.array(&["seq", "table_id", "op"], &["row_key".to_owned()]);
    let seen = seen(last_changes);
    format!(
        "WITH {seen}
     SELECT {SEEN_COLUMNS},
       CASE WHEN last > ?2 THEN (
         SELECT group_concat({entry}) FROM (
           SELECT l.seq, l.table_id, l.op, l.row_key FROM change_contract_log l
           WHERE l.seq > ?2 AND l.seq <= last AND +l.table_id IN (
             SELECT value FROM json_each(?1))
           ORDER BY l.seq LIMIT +?3)) END
     FROM seen"
    )
}

static OF_OURS: LazyLock<String> = LazyLock::new(|| statement(LastChanges::Positions));
static OF_OTHERS: LazyLock<String> = LazyLock::new(|| statement(LastChanges::Tables));

/// What the statement saw.
#[derive(Debug)]
pub(super) struct Observed {
    /// The contract's.
    pub(super) version: i64,
    /// How many tables the family has, where that matters.
    pub(super) listed: Option<i64>,
    pub(super) seen: Seen,
}

/// Sees everything at once, and the log's entries, packed. The contract must be of version 1 and whole: what is wrong otherwise is
/// SQLite's error.
pub(super) async fn observe(
    connection: &mut SqliteConnection,
    family: &str,
    tables: &Tables,
    cursor: Option<&Cursor>,
    file: FileIdentity,
    at_most: u32,
) -> Result<Option<(Observed, Vec<u8>)>, sqlx::Error> {
    // Without a cursor nothing can be after it.
    let seq = cursor.map_or(i64::MAX, |cursor| cursor.seq);
    let statement = match tables.last_changes {
        LastChanges::Positions => &OF_OURS,
        LastChanges::Tables => &OF_OTHERS,
    };
    let row = sqlx::query(statement.as_str())
        .bind(tables.ids.as_str())
        .bind(seq)
        .bind(at_most)
        .bind(family)
        .bind(!tables.journaled)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let entries: Option<&[u8]> = row.try_get(9)?;
    let entries = entries.map(<[u8]>::to_vec).unwrap_or_default();
    Ok(Some((observed(&row, file)?, entries)))
}

/// What is in the [`SEEN_COLUMNS`], which come first in the row.
pub(super) fn observed(row: &SqliteRow, file: FileIdentity) -> Result<Observed, sqlx::Error> {
    Ok(Observed {
        version: row.try_get(5)?,
        listed: row.try_get(6)?,
        seen: Seen {
            now: Cursor {
                schema_version: row.try_get(0)?,
                epoch: row.try_get(1)?,
                generation: row.try_get(2)?,
                seq: row.try_get(3)?,
                file,
            },
            pruned_through: row.try_get(4)?,
            last: row.try_get(7)?,
            table_mode: row.try_get(8)?,
        },
    })
}
