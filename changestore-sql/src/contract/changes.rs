//! The changed rows: from the log's entries to distinct keys with their latest operation.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use changestore_core::{Error, Result};
use serde::Deserialize;

use super::cursor::Cursor;
use super::packed::{self, Packed};
use super::row_key::RowKey;
use super::verify::Table;

/// What was done to a row. What counts is whether the row is there when it is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// It was inserted, or another row got its key.
    Insert,
    /// It was updated in place.
    Update,
    /// It was deleted, or got another key.
    Delete,
}

impl Operation {
    fn from_code(code: i64) -> Option<Self> {
        match code {
            1 => Some(Self::Insert),
            2 => Some(Self::Update),
            3 => Some(Self::Delete),
            _ => None,
        }
    }

    /// Its name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A row that changed after the cursor.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RowChange {
    /// The table.
    pub table: Arc<str>,
    /// The names of the key's columns, in the key's order.
    pub key_columns: Arc<[String]>,
    /// The row's key.
    pub key: RowKey,
    /// The latest thing done to it within the batch.
    pub operation: Operation,
}

/// A batch of changed rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Changes {
    /// Each row once, in the order of its latest change.
    pub rows: Vec<RowChange>,
    /// To be stored when the rows have been dealt with. Safe after each batch.
    pub next: Cursor,
    /// Whether there may be more after this batch: poll again at once.
    pub more: bool,
}

/// A log entry: sequence value, table, operation, key.
#[derive(Deserialize)]
pub(super) struct LogEntry(
    pub(super) i64,
    pub(super) i64,
    pub(super) i64,
    pub(super) Packed,
);

/// The latest entry of each key, and what was found with it.
pub(super) struct LatestChanges<'a, T> {
    tables: &'a HashMap<i64, Table>,
    latest: HashMap<(i64, RowKey), (i64, Operation, &'a Table, T)>,
}

impl<'a, T> LatestChanges<'a, T> {
    /// Of entries of these tables.
    pub(super) fn new(tables: &'a HashMap<i64, Table>) -> Self {
        let latest = HashMap::new();
        Self { tables, latest }
    }

    /// # Errors
    /// [`Corrupt`](changestore_core::ErrorKind::Corrupt) for what no trigger of the contract writes.
    pub(super) fn add(&mut self, entry: LogEntry, found: T) -> Result<()> {
        let LogEntry(seq, table_id, code, Packed(key)) = entry;
        let table = self.tables.get(&table_id);
        let table = table.ok_or_else(|| unreadable(seq, "it is of an unknown table"))?;
        let operation = Operation::from_code(code);
        let operation = operation.ok_or_else(|| unreadable(seq, "its op is not 1, 2 or 3"))?;
        let key = RowKey::decode(key, table.key_columns.len())
            .ok_or_else(|| unreadable(seq, "its key is not of its table's shape"))?;
        let place = (table_id, key);
        if self.latest.get(&place).is_none_or(|(last, ..)| *last < seq) {
            self.latest.insert(place, (seq, operation, table, found));
        }
        Ok(())
    }

    /// In the order of the log.
    pub(super) fn into_sorted(self) -> impl Iterator<Item = (RowChange, T)> {
        let mut latest: Vec<_> = self.latest.into_iter().collect();
        latest.sort_unstable_by_key(|(_, (seq, ..))| *seq);
        latest
            .into_iter()
            .map(|((_, key), (_, operation, table, found))| {
                let change = RowChange {
                    table: Arc::clone(&table.name),
                    key_columns: Arc::clone(&table.key_columns),
                    key,
                    operation,
                };
                (change, found)
            })
    }
}

/// A batch of log entries, as packed by the statement that reads them.
pub(super) struct Batch {
    pub(super) rows: Vec<RowChange>,
    /// How many log entries there were.
    pub(super) entries: usize,
    /// The last one's sequence value.
    pub(super) last: i64,
}

impl Batch {
    /// From the entries of these tables in the order of the log.
    ///
    /// # Errors
    /// [`Corrupt`](changestore_core::ErrorKind::Corrupt) for what no trigger of the contract writes.
    pub(super) fn unpack(packed: &[u8], tables: &HashMap<i64, Table>) -> Result<Self> {
        let entries: Vec<LogEntry> = packed::arrays(packed).map_err(|error| {
            Error::corrupt("an entry of the change contract's log cannot be read")
                .with_source(error)
        })?;
        let (count, last) = (entries.len(), entries.last().map_or(0, |entry| entry.0));
        let mut latest = LatestChanges::new(tables);
        for entry in entries {
            latest.add(entry, ())?;
        }
        Ok(Self {
            rows: latest.into_sorted().map(|(change, ())| change).collect(),
            entries: count,
            last,
        })
    }
}

fn unreadable(seq: i64, why: &str) -> Error {
    Error::corrupt(format!(
        "the change contract's log entry {seq} cannot be read: {why}"
    ))
}
