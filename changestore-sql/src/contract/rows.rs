//! Reading changed rows again, by exactly their keys, a batch in one statement.

use std::fmt::Write as _;

use changestore_core::{Error, Result};
use futures::TryStreamExt as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, AssertSqlSafe, Row as _};

use super::changes::{Operation, RowChange};
use super::failure::failed;
use super::identifiers::quoted;
use super::packed::{self, PackedRow, Packing};
use super::row_key::RowKey;
use super::value::Value;
use super::verify::Table;
use crate::sqlite::codes::is_too_big;

/// Rows that come back as one packed value, and with it the most that is in memory twice.
const CHUNK: usize = 128;

/// Keys that are bound one by one in a statement, where they cannot go into JSON.
const BOUND: usize = 256;

/// A changed row, as it is now.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChangedRow {
    /// Its key.
    pub key: RowKey,
    /// The latest thing done to it within the batch.
    pub operation: Operation,
    /// Its columns that were asked for, in that order; none if it is not there any more.
    pub values: Option<Vec<Value>>,
}

/// Where the rows of one table are found, and which columns of them are wanted.
pub(super) struct RowSource<'a> {
    table: &'a Table,
    columns: &'a [&'a str],
}

impl<'a> RowSource<'a> {
    pub(super) fn new(table: &'a Table, columns: &'a [&'a str]) -> Self {
        Self { table, columns }
    }

    /// Reads the rows of these changes, all of this table, in their order.
    pub(super) async fn read(
        &self,
        connection: &mut SqliteConnection,
        changes: &[&RowChange],
    ) -> Result<Vec<ChangedRow>> {
        let keys: Vec<&[Value]> = changes.iter().map(|change| change.key.parts()).collect();
        let found = match self.find(connection, &keys).await {
            Err(error) if is_too_big(&error) => {
                let mut found = Vec::with_capacity(keys.len());
                for key in keys {
                    self.read_by_bound(connection, &[key], &mut found).await?;
                }
                found
            }
            found => found?,
        };
        let rows = changes
            .iter()
            .zip(found)
            .map(|(change, values)| ChangedRow {
                key: change.key.clone(),
                operation: change.operation,
                values,
            });
        Ok(rows.collect())
    }

    /// The rows of these keys, in as few packed values as may be.
    async fn find(
        &self,
        connection: &mut SqliteConnection,
        keys: &[&[Value]],
    ) -> Result<Vec<Option<Vec<Value>>>> {
        let mut found = Vec::with_capacity(keys.len());
        if keys.iter().all(|key| key.iter().all(fits_json)) {
            self.read_by_json(connection, keys, &mut found).await?;
        } else {
            for keys in keys.chunks(BOUND) {
                self.read_by_bound(connection, keys, &mut found).await?;
            }
        }
        Ok(found)
    }

    /// All keys in one parameter, a JSON array of chunks of keys; each chunk gives one packed row.
    async fn read_by_json(
        &self,
        connection: &mut SqliteConnection,
        keys: &[&[Value]],
        found: &mut Vec<Option<Vec<Value>>>,
    ) -> Result<()> {
        let composite = self.table.key_columns.len() > 1;
        let part = |place: usize| {
            if composite {
                format!("k.value ->> {place}")
            } else {
                "k.value".to_owned()
            }
        };
        let sql = format!(
            "SELECT (SELECT {} FROM json_each(c.value) k {}) FROM json_each(?1) c",
            self.packed_row("k.key"),
            self.join(part),
        );
        let mut rows = sqlx::query(AssertSqlSafe(sql))
            .bind(json_of(keys, composite))
            .fetch(connection);
        // While one chunk is unpacked here, SQLite finds the next on its own thread.
        for keys in keys.chunks(CHUNK) {
            let row = rows.try_next().await.map_err(failed)?;
            let row = row.ok_or_else(|| unreadable(&self.table.name))?;
            let packed: &[u8] = row.try_get(0).map_err(failed)?;
            self.unpack(packed, keys.len(), found)?;
        }
        Ok(())
    }

    /// The keys as parameters, which carry a REAL or a BLOB as it is.
    async fn read_by_bound(
        &self,
        connection: &mut SqliteConnection,
        keys: &[&[Value]],
        found: &mut Vec<Option<Vec<Value>>>,
    ) -> Result<()> {
        let mut arguments = SqliteArguments::default();
        let mut listed = String::new();
        for (place, key) in keys.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(listed, "{comma}({place}{})", ",?".repeat(key.len()));
            for part in *key {
                bind(&mut arguments, part)?;
            }
        }
        let sql = format!(
            "SELECT {} FROM (VALUES {listed}) k {}",
            self.packed_row("k.column1"),
            // The first column is the place.
            self.join(|place| format!("k.column{}", place + 2)),
        );
        let row = sqlx::query_with(AssertSqlSafe(sql), arguments)
            // Each number of keys is a statement of its own.
            .persistent(false)
            .fetch_one(connection)
            .await
            .map_err(failed)?;
        let packed: &[u8] = row.try_get(0).map_err(failed)?;
        self.unpack(packed, keys.len(), found)
    }

    /// The SELECT of this from the row with this key, a log's entry. A composite key must have no REAL that is not
    /// whole, no BLOB and no text with control characters: what the log has as an object.
    pub(super) fn row_of(&self, row_key: &str, what: &str) -> String {
        let composite = self.table.key_columns.len() > 1;
        let exactly = self.exactly(|place| {
            if composite {
                format!("{row_key} ->> {place}")
            } else {
                row_key.to_owned()
            }
        });
        format!(
            "SELECT {what} FROM main.{} t WHERE {exactly}",
            quoted(&self.table.name),
        )
    }

    /// The wanted columns, of `t`.
    pub(super) fn column_names(&self) -> Vec<String> {
        let names = self.columns.iter();
        names.map(|name| self.column(name)).collect()
    }

    /// What SQLite's JSON functions make goes into an array as JSON. A column that is virtual may be of them; its text
    /// is made plain by a function that changes nothing.
    fn column(&self, name: &str) -> String {
        let column = format!("t.{}", quoted(name));
        let mut made = self.table.virtual_columns.iter();
        if made.any(|made| made.eq_ignore_ascii_case(name)) {
            format!("CASE typeof({column}) WHEN 'text' THEN trim({column}, '') ELSE {column} END")
        } else {
            column
        }
    }

    /// A key's place, and if its row is there 1 and the row's columns; all rows in one text.
    fn packed_row(&self, place: &str) -> String {
        let key = quoted(&self.table.key_columns[0]);
        format!(
            "group_concat(CASE WHEN t.{key} IS NULL THEN json_array({place}) ELSE {} END)",
            Packing::Lossless.array(&[place, "1"], &self.column_names()),
        )
    }

    fn join(&self, part: impl Fn(usize) -> String) -> String {
        // Of the schema: a CTE or a table-valued function could have the same name.
        let table = quoted(&self.table.name);
        format!("LEFT JOIN main.{table} t ON {}", self.exactly(part))
    }

    /// That `t` is the row of exactly a key. The first comparison is under the key's own collation, so that SQLite can
    /// use its index; the others tell 1 from 1.0 and under NOCASE `a` from `A`.
    fn exactly(&self, part: impl Fn(usize) -> String) -> String {
        let mut exactly = String::new();
        let columns = self
            .table
            .key_columns
            .iter()
            .zip(&*self.table.key_collations);
        for (place, (column, collation)) in columns.enumerate() {
            let and = if place == 0 { "" } else { " AND " };
            let (column, part) = (format!("t.{}", quoted(column)), part(place));
            let _ = write!(
                exactly,
                "{and}{column} = ({part}) COLLATE {} AND typeof({column}) = typeof({part})",
                collation.as_str(),
            );
            if collation.merges() {
                let _ = write!(exactly, " AND {column} = ({part}) COLLATE BINARY");
            }
        }
        exactly
    }

    /// The rows of so many keys, in their order.
    fn unpack(
        &self,
        packed: &[u8],
        keys: usize,
        found: &mut Vec<Option<Vec<Value>>>,
    ) -> Result<()> {
        let rows: Vec<PackedRow> = packed::arrays(packed).map_err(|error| {
            Error::corrupt(format!(
                "a row of {:?} holds text that is not UTF-8",
                self.table.name
            ))
            .with_source(error)
        })?;
        let first = found.len();
        found.resize(first + keys, None);
        for PackedRow(row) in rows {
            let mut row = row.into_iter();
            let place = match row.next() {
                Some(Value::Integer(place)) => usize::try_from(place).ok(),
                _ => None,
            };
            let place = place.filter(|place| *place < keys);
            let place = place.ok_or_else(|| unreadable(&self.table.name))?;
            // What follows is 1 and the columns, or nothing.
            found[first + place] = row.next().map(|_| row.collect());
        }
        Ok(())
    }
}

fn unreadable(table: &str) -> Error {
    Error::corrupt(format!(
        "a row of {table:?} came back in another shape than it was asked for"
    ))
}

/// Whether SQLite reads the value from JSON as it was: it rounds REALs in another way and has no BLOBs, and
/// some versions end a text at NUL.
fn fits_json(value: &Value) -> bool {
    match value {
        Value::Integer(_) => true,
        Value::Text(text) => !text.contains('\0'),
        Value::Null | Value::Real(_) | Value::Blob(_) => false,
    }
}

/// `[[1,2],[3]]`, and for composite keys `[[[1,"a"],[2,"b"]],[[3,"c"]]]`.
fn json_of(keys: &[&[Value]], composite: bool) -> String {
    let mut json = String::with_capacity(keys.len() * 8);
    for (place, key) in keys.iter().enumerate() {
        json.push_str(match place % CHUNK {
            0 if place == 0 => "[[",
            0 => "],[",
            _ => ",",
        });
        if composite {
            json.push('[');
        }
        for (place, part) in key.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            match part {
                Value::Integer(integer) => {
                    let _ = write!(json, "{integer}");
                }
                Value::Text(text) => json.push_str(&serde_json::Value::from(&**text).to_string()),
                Value::Null | Value::Real(_) | Value::Blob(_) => json.push_str("null"),
            }
        }
        if composite {
            json.push(']');
        }
    }
    json.push_str("]]");
    json
}

fn bind(arguments: &mut SqliteArguments, value: &Value) -> Result<()> {
    let bound = match value {
        Value::Null => arguments.add(None::<i64>),
        Value::Integer(integer) => arguments.add(*integer),
        Value::Real(real) => arguments.add(*real),
        Value::Text(text) => arguments.add(text.clone()),
        Value::Blob(bytes) => arguments.add(bytes.clone()),
    };
    bound.map_err(|error| failed(sqlx::Error::Encode(error)))
}
