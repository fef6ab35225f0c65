//! The statement of a fetch.
//!
//! It packs each entry of the log and its row into one JSON array, the entry's number, table and operation, what is
//! known of the row, the key, and if the row is there its columns.

use std::fmt::Write as _;
use std::sync::Arc;

use super::observe::{SEEN_COLUMNS, seen};
use super::packed::Packing;
use super::rows::RowSource;
use super::verify::Tables;

/// So many numbers after the cursor at most, each entry's row is read without a look at the keys.
const FEW: i64 = 16;

/// The row is not there, or its table was not asked for.
pub(super) const ABSENT: i64 = 0;

/// The row's columns follow.
pub(super) const ROW: i64 = 1;

/// SQL alone cannot tell the key.
pub(super) const UNREAD: i64 = 2;

/// The statement is kept: to put it together takes as long as a poll.
#[derive(Debug)]
pub(super) struct Statement {
    wanted: Vec<(String, Vec<String>)>,
    packing: Packing,
    sql: Arc<str>,
}

impl Statement {
    /// Packs plainly, which most tables' values are made for.
    pub(super) fn new(tables: &Tables, wanted: &[(&str, &[&str])]) -> Self {
        let owned = |columns: &[&str]| columns.iter().map(ToString::to_string).collect();
        Self {
            wanted: wanted
                .iter()
                .map(|(table, columns)| ((*table).to_owned(), owned(columns)))
                .collect(),
            packing: Packing::Plain,
            sql: sql(tables, wanted, Packing::Plain).into(),
        }
    }

    pub(super) fn is_for(&self, wanted: &[(&str, &[&str])]) -> bool {
        self.wanted.len() == wanted.len()
            && self
                .wanted
                .iter()
                .zip(wanted)
                .all(|((table, columns), (other, others))| table == other && columns == others)
    }

    pub(super) fn sql(&self) -> Arc<str> {
        Arc::clone(&self.sql)
    }

    /// Has it pack any value from now on; false if it did already.
    pub(super) fn make_lossless(&mut self, tables: &Tables) -> bool {
        if self.packing == Packing::Lossless {
            return false;
        }
        let columns: Vec<Vec<&str>> = self
            .wanted
            .iter()
            .map(|(_, columns)| columns.iter().map(String::as_str).collect())
            .collect();
        let names = self.wanted.iter().map(|(table, _)| table.as_str());
        let wanted: Vec<_> = names.zip(columns.iter().map(Vec::as_slice)).collect();
        self.sql = sql(tables, &wanted, Packing::Lossless).into();
        self.packing = Packing::Lossless;
        true
    }
}

/// Parameters as those of `seen`, and `?3` the most log entries.
///
/// A row that changes often must not be read for each of its entries: where a key is repeated, the last entry of each is
/// taken. To see that none is takes a third of the time that it takes to sort them out. One CTE and no more: each that
/// SQLite has to keep costs as much as the reading of many rows.
fn sql(tables: &Tables, wanted: &[(&str, &[&str])], packing: Packing) -> String {
    let seen = seen(tables.last_changes);
    let entry = entry(tables, wanted, packing);
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
    let packed = format!("max(e.seq) || ',' || group_concat({entry})");
    // 1 and 1.0 are the same to a GROUP BY, so that it may see a repeated key where there is none.
    format!(
        "WITH {seen}
         SELECT {SEEN_COLUMNS},
           CASE WHEN last <= ?2 OR last IS NULL THEN NULL
           WHEN value - ?2 <= {FEW} OR NOT EXISTS (
             SELECT 1 FROM ({batch}) b GROUP BY b.table_id, b.row_key HAVING count(*) > 1)
           THEN (SELECT count(*) || ',' || {packed} FROM ({batch}) e)
           ELSE (
             SELECT sum(e.entries) || ',' || {packed}
             FROM (
               SELECT count(*) AS entries, max(b.seq) AS seq, b.table_id, b.op, b.row_key
               FROM ({batch}) b
               GROUP BY b.table_id, typeof(b.row_key), b.row_key) e) END
         FROM seen"
    )
}

/// An entry `e` with its row.
fn entry(tables: &Tables, wanted: &[(&str, &[&str])], packing: Packing) -> String {
    let packed = |found: i64, columns: &[String]| {
        let integers = ["e.seq", "e.table_id", "e.op", &found.to_string()];
        let values = [&["e.row_key".to_owned()], columns].concat();
        packing.array(&integers, &values)
    };
    let mut cases = String::new();
    for (name, columns) in wanted {
        let known = tables.by_id.iter().find(|(_, table)| *table.name == **name);
        let Some((id, table)) = known else { continue };
        let source = RowSource::new(table, columns);
        let array = packed(ROW, &source.column_names());
        let row = source.row_of("e.row_key", &array);
        if table.key_columns.len() > 1 {
            // An element that is an object, and infinity.
            let unread = packed(UNREAD, &[]);
            let _ = write!(
                cases,
                " WHEN {id} THEN CASE WHEN e.row_key GLOB '*{{\"[rbtu]*' \
                 OR instr(e.row_key, '9e999') THEN {unread} ELSE ({row}) END"
            );
        } else {
            let _ = write!(cases, " WHEN {id} THEN ({row})");
        }
    }
    let absent = packed(ABSENT, &[]);
    if cases.is_empty() {
        absent
    } else {
        format!("coalesce(CASE e.table_id{cases} END, {absent})")
    }
}
