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
use sqlx::sqlite::SqliteConnection;
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
use crate::sqlite::codes::is_too_big;

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

/// The statement of a fetch, which is kept: to put it together takes as long as a poll.
#[derive(Debug)]
pub(super) struct Statement {
    wanted: Vec<(String, Vec<String>)>,
    sql: Arc<str>,
}

impl Statement {
    fn new(tables: &Tables, wanted: &[(&str, &[&str])]) -> Self {
        let owned = |columns: &[&str]| columns.iter().map(ToString::to_string).collect();
        Self {
            wanted: wanted
                .iter()
                .map(|(table, columns)| ((*table).to_owned(), owned(columns)))
                .collect(),
            sql: sql(tables, wanted).into(),
        }
    }

    fn is_for(&self, wanted: &[(&str, &[&str])]) -> bool {
        self.wanted.len() == wanted.len()
            && self
                .wanted
                .iter()
                .zip(wanted)
                .all(|((table, columns), (other, others))| table == other && columns == others)
    }
}

/// The most entries in a fetch, whose rows are in memory at once.
pub(super) const MOST: u32 = 1_000;

/// So many numbers after the cursor at most, each entry's row is read, whatever its key.
const FEW: i64 = 16;

/// Parameters as those of `seen`, and `?3` the most log entries.
///
/// The last entry of each key is taken, so that a row that changes often is not read for each; but of few entries
/// all are, since sorting them takes longer. One CTE and no more: each that SQLite has to keep costs as much as the
/// reading of many rows.
fn sql(tables: &Tables, wanted: &[(&str, &[&str])]) -> String {
    let seen = seen(tables.last_changes);
    let entry = packed::array_sql(&["e.seq", "e.table_id", "e.op"], &["e.row_key".to_owned()]);
    let row = row(tables, wanted);
    let mut ids = String::new();
    for id in tables.by_id.keys() {
        let comma = if ids.is_empty() { "" } else { "," };
        let _ = write!(ids, "{comma}{id}");
    }
    let batch = format!(
        "SELECT l.seq, l.table_id, l.op, l.row_key FROM change_contract_log l
         WHERE l.seq > ?2 AND l.seq <= last AND +l.table_id IN ({ids})
         ORDER BY l.seq LIMIT +?3"
    );
    let packed = format!("max(e.seq) || ',' || group_concat({entry} || ',' || {row})");
    format!(
        "WITH {seen}
         SELECT {SEEN_COLUMNS},
           CASE WHEN last <= ?2 OR last IS NULL THEN NULL
           WHEN value - ?2 <= {FEW} THEN (SELECT count(*) || ',' || {packed} FROM ({batch}) e)
           ELSE (
             SELECT sum(e.entries) || ',' || {packed}
             FROM (
               SELECT count(*) AS entries, max(b.seq) AS seq, b.table_id, b.op, b.row_key
               FROM ({batch}) b
               GROUP BY b.table_id, typeof(b.row_key), b.row_key) e) END
         FROM seen"
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
        verified: &mut Verified,
        wanted: &[(&str, &[&str])],
    ) -> changestore_core::Result<Option<Fetched>> {
        match self.fetch(connection, verified, wanted).await {
            Ok(fetched) => Ok(fetched),
            // The contract is gone, or there is no such column.
            Err(error) if is_schema(&error) => Ok(None),
            Err(error) => match failed(error) {
                // All rows in one value are; a snapshot takes fewer at once.
                error if is_too_big(&error) => Ok(None),
                error => Err(error),
            },
        }
    }

    async fn fetch(
        &self,
        connection: &mut SqliteConnection,
        verified: &mut Verified,
        wanted: &[(&str, &[&str])],
    ) -> Result<Option<Fetched>, sqlx::Error> {
        let tables = &verified.tables;
        verified.fetch.take_if(|kept| !kept.is_for(wanted));
        let statement = verified
            .fetch
            .get_or_insert_with(|| Statement::new(tables, wanted));
        let row = sqlx::query(AssertSqlSafe(Arc::clone(&statement.sql)))
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
        let packed: Option<&[u8]> = row.try_get(9)?;
        let Ok(batch) = packed::list::<Batch>(packed.unwrap_or_default()) else {
            return Ok(None);
        };
        let mut next = observed.seen.now;
        let more = batch.entries == self.at_most && Some(batch.upto) < observed.seen.last;
        if more {
            next.seq = batch.upto;
        }
        let mut latest = LatestChanges::new(&tables.by_id);
        for (entry, found) in batch.rows {
            let values = match found {
                Found::Row(values) => Some(values),
                Found::Absent => None,
                Found::Unread => return Ok(None),
            };
            if latest.add(entry, values).is_err() {
                return Ok(None);
            }
        }
        Ok(Some(of_latest(latest, wanted, next, more)))
    }
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

/// What was read of the log.
struct Batch {
    entries: u32,
    /// The last entry's number.
    upto: i64,
    /// The last entry of each key, with its row behind it.
    rows: Vec<(LogEntry, Found)>,
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BatchVisitor;

        impl<'de> Visitor<'de> for BatchVisitor {
            type Value = Batch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two numbers, then entries of the log and their rows in turn")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Batch, A::Error> {
                let entries = list.next_element()?;
                let upto = list.next_element()?;
                let missing = || A::Error::custom("neither a count nor a number");
                let mut batch = Batch {
                    entries: entries.ok_or_else(missing)?,
                    upto: upto.ok_or_else(missing)?,
                    rows: Vec::new(),
                };
                while let Some(entry) = list.next_element()? {
                    let found = list.next_element()?;
                    let found =
                        found.ok_or_else(|| A::Error::custom("an entry without its row"))?;
                    batch.rows.push((entry, found));
                }
                Ok(batch)
            }
        }

        deserializer.deserialize_seq(BatchVisitor)
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
