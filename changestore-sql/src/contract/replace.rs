//! Rows that REPLACE deletes through a unique index: without firing any trigger, unless recursive triggers
//! are on.
//!
//! Before a row is written, the rows that stand in its way are noted. Whether they will be deleted is
//! not known then: the statement may as well fail, do nothing, or update one of them. After
//! the row is written, those of the noted that are gone are journaled as deleted. Triggers that journal a
//! deletion strike the row's notes out, so nothing is journaled twice.
//!
//! A note is found again by the value for which it was made. So a statement of a user's trigger, which
//! may come between the two, neither settles nor strikes out the notes of the one around it.

use super::identifiers::quoted;
use super::key_sql::{columns, equal, equality, noted, same, stored};
use super::null_default::NullDefault;
use super::table_info::{Key, Part, TableInfo, UniqueIndex};
use super::triggers::Trigger;

/// Columns of a key that a note has room for.
const NOTED_COLUMNS: usize = 8;

/// Notes that are kept: far more than there can be conflicts that come to nothing in the triggers of one statement,
/// and a few megabytes.
const NOTES: u32 = 65_536;

/// An index that can be seen through: each of its entries is the values of some columns.
struct Covered<'a> {
    place: usize,
    parts: &'a [Part],
}

/// What is needed for a table's unique indexes.
pub(super) struct Replaced<'a> {
    table: &'a TableInfo,
    key: &'a Key,
    id: i64,
    indexes: Vec<Covered<'a>>,
}

/// The unique indexes through which REPLACE would get past the journal, and why each does.
pub(super) fn uncovered(table: &TableInfo, key: &Key) -> Vec<(String, &'static str)> {
    let why = |index: &UniqueIndex| {
        if index.parts.is_none() {
            Some("is partial or has an expression")
        } else if depends_on_row_id(table, key, index) {
            Some(
                "is over a generated column, which a trigger before the write does not know where SQLite chooses \
                 the INTEGER PRIMARY KEY",
            )
        } else if has_unknown_default(table, index) {
            Some(
                "is over a column whose default for NULL is an expression, or over a generated column of a table with such \
                 defaults",
            )
        } else if key.parts.len() > NOTED_COLUMNS {
            Some("is on a table with a primary key of more than 8 columns")
        } else {
            None
        }
    };
    let indexes = table.unique.iter();
    indexes
        .filter_map(|index| why(index).map(|why| (index.name.clone(), why)))
        .collect()
}

/// Whether an index may be over the row id by way of a generated column. The id that SQLite will choose is -1 before the
/// write; ids that the statement gives are what they are.
fn depends_on_row_id(table: &TableInfo, key: &Key, index: &UniqueIndex) -> bool {
    let parts = index.parts.iter().flatten();
    let declared = key
        .parts
        .iter()
        .all(|part| !table.rowid_names.contains(&&*part.column.name));
    key.is_rowid && declared && parts.into_iter().any(|part| part.column.generated)
}

/// Whether REPLACE may write another value than NULL that cannot be told before.
fn has_unknown_default(table: &TableInfo, index: &UniqueIndex) -> bool {
    let mut parts = index.parts.iter().flatten();
    parts.any(|part| {
        part.column.null_default == NullDefault::Unknown
            || (part.column.generated && table.has_null_defaults)
    })
}

impl<'a> Replaced<'a> {
    /// None where REPLACE deletes no row but the one with the same key, which is written anew.
    pub(super) fn new(table: &'a TableInfo, key: &'a Key, id: i64) -> Option<Self> {
        if key.parts.len() > NOTED_COLUMNS {
            return None;
        }
        let covered = table.unique.iter().enumerate();
        let indexes: Vec<_> = covered
            .filter_map(|(place, index)| {
                let parts = index.parts.as_deref()?;
                Some(Covered { place, parts })
            })
            .collect();
        (!indexes.is_empty()).then_some(Self {
            table,
            key,
            id,
            indexes,
        })
    }

    /// Strikes a row's notes out, in a trigger that has journaled its deletion.
    pub(super) fn forget(&self) -> String {
        let same = same(
            self.key,
            &noted(self.key, "change_contract_notes"),
            &columns(self.key, "OLD"),
        );
        format!(
            " DELETE FROM change_contract_notes WHERE table_id = {} AND {same};",
            self.id
        )
    }

    pub(super) fn triggers(&self) -> Vec<Trigger> {
        let on = quoted(&self.table.name);
        let of = self.update_of();
        let trigger =
            |suffix, event: String, body: String| Trigger::new(self.table, suffix, &event, &body);
        let in_the_way = |update| self.any(|index| self.in_the_way(index, update));
        let noted = self.any(|index| {
            let notes = self.notes(index, Stage::After);
            format!("SELECT 1 FROM change_contract_notes n WHERE {notes}")
        });
        vec![
            trigger(
                "insert_conflicts",
                format!("BEFORE INSERT ON {on} WHEN {}", in_the_way(false)),
                self.note(false),
            ),
            trigger(
                "insert_replaced",
                format!("AFTER INSERT ON {on} WHEN {noted}"),
                self.settle(),
            ),
            trigger(
                "update_conflicts",
                format!("BEFORE UPDATE{of} ON {on} WHEN {}", in_the_way(true)),
                self.note(true),
            ),
            trigger(
                "update_replaced",
                format!("AFTER UPDATE{of} ON {on} WHEN {noted}"),
                self.settle(),
            ),
        ]
    }

    /// An update can only run into rows by the columns of the indexes. Those that are generated are never set.
    fn update_of(&self) -> String {
        let parts = self.indexes.iter().flat_map(|index| index.parts);
        let mut names = Vec::new();
        for part in parts {
            if part.column.generated {
                return String::new();
            }
            for name in self.table.names_of(&part.column) {
                let name = quoted(name);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        format!(" OF {}", names.join(", "))
    }

    fn any(&self, exists: impl Fn(&Covered<'_>) -> String) -> String {
        let exists: Vec<_> = self.indexes.iter().map(exists).collect();
        format!("EXISTS ({})", exists.join(") OR EXISTS ("))
    }

    /// The rows `c` that have the index's value of the row to be written.
    fn in_the_way(&self, index: &Covered<'_>, update: bool) -> String {
        let equal_value: Vec<_> = index
            .parts
            .iter()
            .map(|part| {
                let column = format!("c.{}", quoted(&part.column.name));
                equality(
                    &column,
                    &to_be(part, Stage::Before),
                    part.column.types,
                    &part.collation,
                )
            })
            .collect();
        let mut conditions = equal_value;
        if update {
            // The row itself is in nobody's way.
            conditions.push(if let Some(rowid) = &self.table.rowid {
                format!("c.{rowid} <> OLD.{rowid}", rowid = quoted(rowid))
            } else {
                let equal = equal(self.key, &columns(self.key, "c"), &columns(self.key, "OLD"));
                format!("NOT ({equal})")
            });
        }
        format!(
            "SELECT 1 FROM {} AS c WHERE {}",
            quoted(&self.table.name),
            conditions.join(" AND ")
        )
    }

    /// Notes them, unless they are already.
    fn note(&self, update: bool) -> String {
        let key = columns(self.key, "c");
        let names: Vec<_> = (1..=key.len()).map(|place| format!("k{place}")).collect();
        let mut body = Vec::new();
        for index in &self.indexes {
            let rows = self.in_the_way(index, update);
            let rows = rows.trim_start_matches("SELECT 1");
            body.push(format!(
                "INSERT INTO change_contract_notes (table_id, place, value, {}) \
                 SELECT {}, {}, {}, {}{rows} AND NOT EXISTS (\
                 SELECT 1 FROM change_contract_notes n WHERE {} AND {}); ",
                names.join(", "),
                self.id,
                index.place,
                value(index, Stage::Before),
                key.join(", "),
                self.notes(index, Stage::Before),
                same(self.key, &noted(self.key, "n"), &key),
            ));
        }
        body.push(format!(
            "DELETE FROM change_contract_notes \
             WHERE note <= (SELECT max(note) FROM change_contract_notes) - {NOTES};"
        ));
        body.concat()
    }

    /// The notes that were made for the index's value of the written row.
    fn notes(&self, index: &Covered<'_>, stage: Stage) -> String {
        format!(
            "n.table_id = {} AND n.place = {} AND n.value = {}",
            self.id,
            index.place,
            value(index, stage)
        )
    }

    /// Journals those of the noted rows that are gone, and strikes all out.
    fn settle(&self) -> String {
        let notes: Vec<_> = self
            .indexes
            .iter()
            .map(|index| self.notes(index, Stage::After))
            .collect();
        let notes = format!("({})", notes.join(" OR "));
        let key = noted(self.key, "n");
        let there = same(self.key, &columns(self.key, "c"), &key);
        let stored = stored(self.key, &key);
        format!(
            "INSERT INTO change_contract_entries (table_id, op, {names}) \
             SELECT {id}, 3, {values} FROM change_contract_notes n \
             WHERE {noted} AND NOT EXISTS (SELECT 1 FROM {table} AS c WHERE {there}) \
             GROUP BY {columns}; \
             DELETE FROM change_contract_notes WHERE note IN (\
             SELECT n.note FROM change_contract_notes n WHERE {noted});",
            id = self.id,
            names = stored.names,
            values = stored.values,
            noted = notes,
            table = quoted(&self.table.name),
            columns = key.join(", "),
        )
    }
}

/// On which side of the write a trigger is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Before,
    After,
}

/// What the column will hold: REPLACE writes the default where NULL is not allowed.
fn to_be(part: &Part, stage: Stage) -> String {
    let column = format!("NEW.{}", quoted(&part.column.name));
    match &part.column.null_default {
        NullDefault::Literal(default) if stage == Stage::Before => {
            format!("ifnull({column}, {default})")
        }
        _ => column,
    }
}

/// An index's value in one: equal before and after the row is written.
fn value(index: &Covered<'_>, stage: Stage) -> String {
    let values: Vec<_> = index.parts.iter().map(|part| to_be(part, stage)).collect();
    match &*values {
        [value] => value.clone(),
        values => values.join(" || char(0) || "),
    }
}
