//! What a poll says together with the changed rows themselves: one statement, and so one snapshot.
//!
//! Decision, log and tables are read by one SELECT, which needs no transaction around it. Its one row is handed over
//! when SQLite has let go of the archive. It holds the whole batch, packed, so batches are smaller than those of a poll.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error as _, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::algorithm::{Poll, Question};
use super::changes::{Changes, LatestChanges, LogEntry};
use super::cursor::Cursor;
use super::decide::{Decision, decide};
use super::failure::{failed, is_schema};
use super::fetch_sql::{ABSENT, ROW, Statement, UNREAD};
use super::observe::{Observed, observed};
use super::packed::{self, PackedRow};
use super::rows::ChangedRow;
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

/// The most entries in a fetch, whose rows are in memory at once.
pub(super) const MOST: u32 = 1_000;

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
        let read = match self.read(connection, tables, statement).await {
            Ok(Some((_, Err(_)))) if statement.make_lossless(tables) => {
                self.read(connection, tables, statement).await?
            }
            Err(error) if is_schema(&error) && statement.make_lossless(tables) => {
                self.read(connection, tables, statement).await?
            }
            read => read?,
        };
        let Some((observed, batch)) = read else {
            return Ok(None);
        };
        if !verified.holds(&observed) {
            return Ok(None);
        }
        if decide(self.cursor, &observed.seen) != Decision::Rows {
            let poll = self.conclude(observed, &[], verified);
            return Ok(poll.ok().map(|poll| Fetched::new(poll, HashMap::new())));
        }
        let Ok(Some(batch)) = batch else {
            return Ok(None);
        };
        let mut next = observed.seen.now;
        let more = batch.entries == self.at_most && Some(batch.upto) < observed.seen.last;
        if more {
            next.seq = batch.upto;
        }
        let mut latest = LatestChanges::new(&verified.tables.by_id);
        for FoundEntry { entry, found } in batch.rows {
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

    /// What the statement sees, and the batch if it says that there is one, or why that cannot be read.
    async fn read(
        &self,
        connection: &mut SqliteConnection,
        tables: &Tables,
        statement: &Statement,
    ) -> Result<Option<(Observed, serde_json::Result<Option<Batch>>)>, sqlx::Error> {
        let row = sqlx::query(AssertSqlSafe(statement.sql()))
            .bind(tables.ids.as_str())
            .bind(self.cursor.map_or(i64::MAX, |cursor| cursor.seq))
            .bind(self.at_most)
            .bind(self.family)
            .bind(!tables.journaled)
            .fetch_optional(connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let packed: Option<&[u8]> = row.try_get(9)?;
        let batch = packed.map(packed::list::<Batch>).transpose();
        Ok(Some((observed(&row, self.file)?, batch)))
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
    /// The last entry of each key at least.
    rows: Vec<FoundEntry>,
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BatchVisitor;

        impl<'de> Visitor<'de> for BatchVisitor {
            type Value = Batch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two numbers, then entries of the log with their rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Batch, A::Error> {
                let mut batch = Batch {
                    entries: element(&mut list)?,
                    upto: element(&mut list)?,
                    rows: Vec::new(),
                };
                while let Some(entry) = list.next_element()? {
                    batch.rows.push(entry);
                }
                Ok(batch)
            }
        }

        deserializer.deserialize_seq(BatchVisitor)
    }
}

/// An entry, and its row.
struct FoundEntry {
    entry: LogEntry,
    found: Found,
}

/// What has become of an entry's row.
enum Found {
    Row(Vec<Value>),
    Absent,
    /// The statement cannot tell.
    Unread,
}

impl<'de> Deserialize<'de> for FoundEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = FoundEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an entry of the log, and its row")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FoundEntry, A::Error> {
                let (seq, table_id, op) = (
                    element(&mut list)?,
                    element(&mut list)?,
                    element(&mut list)?,
                );
                let what: i64 = element(&mut list)?;
                let key = element(&mut list)?;
                let found = match what {
                    ABSENT => Found::Absent,
                    UNREAD => Found::Unread,
                    ROW => {
                        let rest = SeqAccessDeserializer::new(list);
                        let PackedRow(values) = PackedRow::deserialize(rest)?;
                        Found::Row(values)
                    }
                    other => {
                        let other = Unexpected::Signed(other);
                        return Err(A::Error::invalid_value(other, &self));
                    }
                };
                let entry = LogEntry(seq, table_id, op, key);
                Ok(FoundEntry { entry, found })
            }
        }

        deserializer.deserialize_seq(EntryVisitor)
    }
}

fn element<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(list: &mut A) -> Result<T, A::Error> {
    let element = list.next_element()?;
    element.ok_or_else(|| A::Error::custom("a list that is too short"))
}
