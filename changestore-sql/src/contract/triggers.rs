//! The triggers of one table: the three that readers look for, and those that are needed beside them.

use super::identifiers::{PREFIX, quoted};
use super::key_sql::{Stored, changed, columns, stored};
use super::plan::Mode;
use super::replace::Replaced;
use super::table_info::{Key, TableInfo};

/// A trigger, as it is to be in `sqlite_schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trigger {
    pub(super) name: String,
    pub(super) sql: String,
}

impl Trigger {
    /// The first three end in `_insert`, `_update` and `_delete`, and no other suffix does: two tables'
    /// triggers never have one name.
    pub(super) fn new(table: &TableInfo, suffix: &str, event: &str, body: &str) -> Self {
        let name = format!("{PREFIX}{}_{suffix}", table.name);
        let sql = format!("CREATE TRIGGER {} {event} BEGIN {body} END", quoted(&name));
        Self { name, sql }
    }
}

/// All that belong to a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableTriggers {
    pub(super) insert: Trigger,
    pub(super) update: Trigger,
    pub(super) delete: Trigger,
    pub(super) others: Vec<Trigger>,
}

impl TableTriggers {
    pub(super) fn new(table: &TableInfo, id: i64, mode: Mode) -> Self {
        match (mode, &table.key) {
            (Mode::Rows, Some(key)) => rows(table, key, id),
            _ => whole(table, id),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Trigger> {
        [&self.insert, &self.update, &self.delete]
            .into_iter()
            .chain(&self.others)
    }
}

/// Appends an entry. SQLite numbers it, so it can never conflict, whatever the user's statement says of conflicts.
fn append(id: i64, op: u8, key: &Stored) -> String {
    let Stored { names, values } = key;
    format!(
        "INSERT INTO change_contract_entries (table_id, op, {names}) VALUES ({id}, {op}, {values});"
    )
}

/// Rows mode. Another key is a trigger of its own, which an update that leaves the key's columns alone does not
/// even start: an entry under a condition costs as much as the entry.
fn rows(table: &TableInfo, key: &Key, id: i64) -> TableTriggers {
    let on = quoted(&table.name);
    let new = stored(key, &columns(key, "NEW"));
    let old = stored(key, &columns(key, "OLD"));
    let changed = changed(key);
    let replaced = Replaced::new(table, key, id);
    let forget = replaced.as_ref().map(Replaced::forget).unwrap_or_default();
    let trigger = |suffix, event: &str, body: &str| Trigger::new(table, suffix, event, body);
    let mut others = vec![trigger(
        "update_key",
        &format!(
            "AFTER UPDATE OF {} ON {on} WHEN {changed}",
            key_names(table, key)
        ),
        &format!("{} {}{forget}", append(id, 3, &old), append(id, 1, &new)),
    )];
    if let Some(replaced) = &replaced {
        others.extend(replaced.triggers());
    }
    TableTriggers {
        insert: trigger(
            "insert",
            &format!("AFTER INSERT ON {on}"),
            &append(id, 1, &new),
        ),
        update: trigger(
            "update",
            &format!("AFTER UPDATE ON {on} WHEN NOT ({changed})"),
            &append(id, 2, &new),
        ),
        delete: trigger(
            "delete",
            &format!("AFTER DELETE ON {on}"),
            &format!("{}{forget}", append(id, 3, &old)),
        ),
        others,
    }
}

/// All names under which an update can set the key.
fn key_names(table: &TableInfo, key: &Key) -> String {
    let columns = key.parts.iter().map(|part| &part.column);
    let names: Vec<_> = columns
        .flat_map(|column| table.names_of(column))
        .map(quoted)
        .collect();
    names.join(", ")
}

/// Table mode: only that something was written.
fn whole(table: &TableInfo, id: i64) -> TableTriggers {
    let on = quoted(&table.name);
    let body = format!("INSERT INTO change_contract_entries (table_id) VALUES ({id});");
    let trigger =
        |suffix, event: &str| Trigger::new(table, suffix, &format!("AFTER {event} ON {on}"), &body);
    TableTriggers {
        insert: trigger("insert", "INSERT"),
        update: trigger("update", "UPDATE"),
        delete: trigger("delete", "DELETE"),
        others: Vec::new(),
    }
}
