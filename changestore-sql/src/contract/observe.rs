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
use super::packed;
use super::verify::Tables;

/// The most numbers past the cursor for which it is cheaper to look at each log entry than at each table.
const SHORT_GAP: i64 = 32;

/// `?1` the identifiers of the family's tables, `?2` the cursor's sequence, `?3` the most log entries, `?4` the
/// family, `?5` the most numbers past the cursor for which the log itself can tell whether there is a change.
///
/// The log's entries come packed into one text, because each row that crosses over from the connection's thread
/// costs more than its reading. `+l.table_id` keeps the planner on the log's own order. A bare `LIMIT ?3` would have
/// SQLite prepare the statement anew for each bound value, which takes thirty times as long as the statement.
static OBSERVE: LazyLock<String> = LazyLock::new(|| {
    let entry = packed::array_sql(&["seq", "table_id", "op"], &["row_key".to_owned()]);
    format!(
        "WITH seen AS MATERIALIZED (
       SELECT p.schema_version, s.epoch, s.generation, q.value, q.pruned_through,
         s.contract_version,
         CASE WHEN q.value <= ?2 THEN NULL
         WHEN q.value - ?2 <= ?5 AND ?2 >= q.pruned_through THEN (
           SELECT max(l.seq) FROM change_contract_log l
           WHERE l.seq > ?2 AND EXISTS (
             SELECT 1 FROM change_contract_tables t
             JOIN change_contract_families f ON f.table_name = t.table_name
             WHERE t.table_id = l.table_id AND f.family = ?4))
         ELSE (
           SELECT max(t.last_seq) FROM change_contract_tables t
           WHERE t.table_id IN (SELECT value FROM json_each(?1))) END AS last,
         CASE WHEN q.value > ?2 THEN (
           SELECT count(*) FROM change_contract_families f WHERE f.family = ?4) END AS listed
       FROM change_contract_state s, change_contract_sequence q, pragma_schema_version p)
     SELECT schema_version, epoch, generation, value, pruned_through, contract_version, listed, last,
       CASE WHEN last > ?2 THEN (
         SELECT t.table_name FROM change_contract_tables t
         WHERE t.table_id IN (SELECT value FROM json_each(?1))
           AND t.mode = 'table' AND t.last_seq > ?2 LIMIT 1) END,
       CASE WHEN last > ?2 THEN (
         SELECT group_concat({entry}) FROM (
           SELECT l.seq, l.table_id, l.op, l.row_key FROM change_contract_log l
           WHERE l.seq > ?2 AND l.seq <= last AND +l.table_id IN (
             SELECT value FROM json_each(?1))
           ORDER BY l.seq LIMIT +?3)) END
     FROM seen"
    )
});

/// What the statement saw.
#[derive(Debug)]
pub(super) struct Observed {
    /// The contract's.
    pub(super) version: i64,
    /// How many tables the family has, where that matters.
    pub(super) listed: Option<i64>,
    pub(super) seen: Seen,
    /// The log's entries, packed; nothing where there are none.
    pub(super) entries: Vec<u8>,
}

/// Sees everything at once. The contract must be of version 1 and whole: what is wrong otherwise is
/// SQLite's error.
pub(super) async fn observe(
    connection: &mut SqliteConnection,
    family: &str,
    tables: &Tables,
    cursor: Option<&Cursor>,
    file: FileIdentity,
    at_most: u32,
) -> Result<Option<Observed>, sqlx::Error> {
    // Without a cursor nothing can be after it.
    let seq = cursor.map_or(i64::MAX, |cursor| cursor.seq);
    let row = sqlx::query(OBSERVE.as_str())
        .bind(tables.ids.as_str())
        .bind(seq)
        .bind(at_most)
        .bind(family)
        .bind(if tables.journaled { SHORT_GAP } else { -1 })
        .fetch_optional(connection)
        .await?;
    row.map(|row| observed(&row, file)).transpose()
}

fn observed(row: &SqliteRow, file: FileIdentity) -> Result<Observed, sqlx::Error> {
    let entries: Option<&[u8]> = row.try_get(9)?;
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
        entries: entries.map(<[u8]>::to_vec).unwrap_or_default(),
    })
}
