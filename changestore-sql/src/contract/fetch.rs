//! What a poll says together with the changed rows themselves: one statement, and so one snapshot.
//!
//! Decision, log and tables are read by one SELECT, which needs no transaction around it. Its one row is handed over
//! when SQLite has let go of the archive. It holds the whole batch, packed, so batches are smaller than those of a poll.

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::algorithm::{Poll, Question};
use super::changes::{Changes, LatestChanges, LogEntry};
use super::cursor::Cursor;
use super::decide::{Decision, decide};
use super::failure::{failed, is_schema};
use super::observe::{SEEN_COLUMNS, observed, seen};
use super::packed::{self, PackedRow};
use super::rows::{ChangedRow, RowSource};
use super::value::Value;
use super::verify::{Tables, Verified};

/// What a poll said, and the changed rows as they were at that moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fetched {
    /// What has become of the family.
    pub poll: Poll,
    rows: HashMap<Arc<str>, Vec<ChangedRow>>,
}

impl Fetched {
    pub(super) fn new(poll: Poll, rows: HashMap<Arc<str>, Vec<ChangedRow>>) -> Self {
        Self { poll, rows }
    }

    /// The changed rows of a table that was asked for, in the order of the poll's changes; none where
    /// the poll named no row of it.
    #[must_use]
    pub fn rows(&self, table: &str) -> &[ChangedRow] {
        self.rows.get(table).map_or(&[], Vec::as_slice)
    }
}

/// Parameters as those of `seen`, and `?3` the most log entries.
///
/// Of the entries of one key the last is taken, so that a row that changes often is not read for each. Grouping takes
/// longer than the rest, and is spared where there is nothing to be grouped.
fn statement(tables: &Tables, wanted: &[(&str, &[&str])]) -> String {
    let seen = seen(tables.last_changes);
    let entry = packed::array_sql(&["e.seq", "e.table_id", "e.op"], &["e.row_key".to_owned()]);
    let row = row(tables, wanted);
    format!(
        "WITH {seen},
         decided AS MATERIALIZED (SELECT {SEEN_COLUMNS} FROM seen),
         batch AS MATERIALIZED (
           SELECT l.seq, l.table_id, l.op, l.row_key FROM change_contract_log l
           WHERE l.seq > ?2
             AND l.seq <= (
               SELECT last FROM decided WHERE ?2 >= pruned_through AND table_mode IS NULL)
             AND +l.table_id IN (SELECT value FROM json_each(?1))
           ORDER BY l.seq LIMIT +?3)
         SELECT decided.*, (SELECT max(seq) FROM batch), (SELECT count(*) FROM batch),
           CASE WHEN (SELECT count(*) = count(DISTINCT row_key) FROM batch) THEN (
             SELECT group_concat({entry} || ',' || {row}) FROM batch e)
           ELSE (
             SELECT group_concat({entry} || ',' || {row}) FROM (
               SELECT max(seq) AS seq, table_id, op, row_key FROM batch
               GROUP BY table_id, typeof(row_key), row_key) e) END
         FROM decided"
    )
}

/// An entry's row: its columns, `null` where it is not there or its table was not asked for, 0 where SQL alone cannot
/// tell the key.
fn row(tables: &Tables, wanted: &[(&str, &[&str])]) -> String {
    let mut cases = String::new();
    for (name, columns) in wanted {
        let known = tables.by_id.iter().find(|(_, table)| *table.name == **name);
        let Some((id, table)) = known else { continue };
        let source = RowSource::new(table, columns);
        let row = source.row_of("e.row_key");
        if table.key_columns.len() > 1 {
            // An element that is an object, and infinity.
            let _ = write!(
                cases,
                " WHEN {id} THEN CASE WHEN e.row_key GLOB '*{{\"[rbtu]*' \
                 OR instr(e.row_key, '9e999') THEN '0' ELSE ({row}) END"
            );
        } else {
            let _ = write!(cases, " WHEN {id} THEN ({row})");
        }
    }
    if cases.is_empty() {
        "'null'".to_owned()
    } else {
        format!("coalesce(CASE e.table_id{cases} END, 'null')")
    }
}

impl Question<'_> {
    /// The answer with the rows of these tables, in one statement; none if the contract that was verified does not
    /// stand any more, or a statement for itself cannot find all rows.
    pub(super) async fn fetch_verified(
        &self,
        connection: &mut SqliteConnection,
        verified: &Verified,
        wanted: &[(&str, &[&str])],
    ) -> changestore_core::Result<Option<Fetched>> {
        match self.fetch(connection, verified, wanted).await {
            Ok(fetched) => Ok(fetched),
            // The contract is gone, or there is no such column.
            Err(error) if is_schema(&error) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn fetch(
        &self,
        connection: &mut SqliteConnection,
        verified: &Verified,
        wanted: &[(&str, &[&str])],
    ) -> Result<Option<Fetched>, sqlx::Error> {
        let tables = &verified.tables;
        let row = sqlx::query(AssertSqlSafe(statement(tables, wanted)))
            .bind(tables.ids.as_str())
            .bind(self.cursor.map_or(i64::MAX, |cursor| cursor.seq))
            .bind(self.at_most)
            .bind(self.family)
            .bind(!tables.journaled)
            .fetch_optional(connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let observed = observed(&row, self.file)?;
        if !verified.holds(&observed) {
            return Ok(None);
        }
        if decide(self.cursor, &observed.seen) != Decision::Rows {
            let poll = self.conclude(observed, &[], verified);
            return Ok(poll.ok().map(|poll| Fetched::new(poll, HashMap::new())));
        }
        let mut latest = LatestChanges::new(&tables.by_id);
        if take(&row, &mut latest).is_none() {
            return Ok(None);
        }
        let (upto, entries): (Option<i64>, u32) = (row.try_get(9)?, row.try_get(10)?);
        let mut next = observed.seen.now;
        let more = entries == self.at_most && upto < observed.seen.last;
        if let Some(upto) = upto.filter(|_| more) {
            next.seq = upto;
        }
        Ok(Some(of_latest(latest, wanted, next, more)))
    }
}

/// Unpacks the batch; none if it is not all there.
fn take(row: &SqliteRow, latest: &mut LatestChanges<'_, Option<Vec<Value>>>) -> Option<()> {
    let packed: Option<&[u8]> = row.try_get(11).ok()?;
    let Entries(entries) = packed::list(packed.unwrap_or_default()).ok()?;
    for (entry, found) in entries {
        let values = match found {
            Found::Row(values) => Some(values),
            Found::Absent => None,
            Found::Unread => return None,
        };
        latest.add(entry, values).ok()?;
    }
    Some(())
}

/// Tables of which no columns were asked for are named by the poll alone.
fn of_latest(
    latest: LatestChanges<'_, Option<Vec<Value>>>,
    wanted: &[(&str, &[&str])],
    next: Cursor,
    more: bool,
) -> Fetched {
    let mut rows: HashMap<_, Vec<_>> = HashMap::new();
    let mut changes = Vec::new();
    for (change, values) in latest.into_sorted() {
        if wanted.iter().any(|(table, _)| *change.table == **table) {
            let of_table = rows.entry(Arc::clone(&change.table)).or_default();
            of_table.push(ChangedRow {
                key: change.key.clone(),
                operation: change.operation,
                values,
            });
        }
        changes.push(change);
    }
    let poll = Poll::Rows(Changes {
        rows: changes,
        next,
        more,
    });
    Fetched::new(poll, rows)
}

/// Entries, each with its row behind it.
struct Entries(Vec<(LogEntry, Found)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("entries of the log and their rows in turn")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element()? {
                    let found = list.next_element()?;
                    let found =
                        found.ok_or_else(|| A::Error::custom("an entry without its row"))?;
                    entries.push((entry, found));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_seq(EntriesVisitor)
    }
}

/// What has become of an entry's row.
enum Found {
    Row(Vec<Value>),
    Absent,
    /// The statement cannot tell.
    Unread,
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FoundVisitor;

        impl<'de> Visitor<'de> for FoundVisitor {
            type Value = Found;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a row, null or 0")
            }

            fn visit_unit<E>(self) -> Result<Found, E> {
                Ok(Found::Absent)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Found, E> {
                Ok(Found::Unread)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, row: A) -> Result<Found, A::Error> {
                let PackedRow(values) = PackedRow::deserialize(SeqAccessDeserializer::new(row))?;
                Ok(Found::Row(values))
            }
        }

        deserializer.deserialize_any(FoundVisitor)
    }
}
