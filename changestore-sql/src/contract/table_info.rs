//! What a table looks like: its key, its columns' types, and the unique indexes that REPLACE minds.

use changestore_core::Result;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::failure::failed;
use super::identifiers::ROWID_NAMES;
use super::null_default::NullDefault;
use super::types::Types;

/// What is found under a table's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    View,
    Virtual,
    /// Where a virtual table keeps its data.
    Shadow,
}

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) types: Types,
    pub(super) generated: bool,
    /// What REPLACE puts where NULL is not allowed.
    pub(super) null_default: NullDefault,
    not_null: bool,
    declared: String,
    /// The place in the declared primary key, from 1, or 0.
    key_place: i64,
}

/// A column of a key or of an index.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) column: Column,
    pub(super) collation: String,
}

impl Part {
    /// Whether two values that the index holds to be equal can be different.
    fn merges(&self) -> bool {
        let types = self.column.types;
        (types.text && !self.collation.eq_ignore_ascii_case("BINARY"))
            || (types.integer && types.real && !types.prefers_integer)
    }
}

/// What a row is told by.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) parts: Vec<Part>,
    /// It is the row id, under its own name or that of an INTEGER PRIMARY KEY.
    pub(super) is_rowid: bool,
    /// A row can have no key: what makes it so.
    pub(super) nullable: Option<String>,
}

impl Key {
    /// Whether a row with an equal key can be another row.
    pub(super) fn merges(&self) -> bool {
        self.parts.iter().any(Part::merges)
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<&str> {
        self.parts.iter().map(|part| &*part.column.name).collect()
    }
}

/// A unique index other than an exact primary key: through it REPLACE deletes other rows. So it does through the row id, where
/// that is not the key.
#[derive(Debug, Clone)]
pub(super) struct UniqueIndex {
    pub(super) name: String,
    /// Its columns; none of a partial index, or of one with an expression.
    pub(super) parts: Option<Vec<Part>>,
}

/// A table, or what has the name of one.
#[derive(Debug, Clone)]
pub(super) struct TableInfo {
    /// As it was created: SQLite's names have no case, the reader's comparisons do.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// None where all names of the row id are taken by columns and there is no primary key.
    pub(super) key: Option<Key>,
    pub(super) unique: Vec<UniqueIndex>,
    /// By which name the row id is had, if there is one and a name is left for it.
    pub(super) rowid: Option<String>,
    /// All names of the row id that are no columns.
    pub(super) rowid_names: Vec<&'static str>,
    /// Whether REPLACE puts something in place of NULL in some column.
    pub(super) has_null_defaults: bool,
}

impl TableInfo {
    /// None if the database has nothing of this name.
    pub(super) async fn read(
        connection: &mut SqliteConnection,
        name: &str,
    ) -> Result<Option<Self>> {
        let found = sqlx::query(
            "SELECT l.name, l.type, l.wr, l.strict FROM pragma_table_list l
             WHERE l.schema = 'main' AND l.name = ?1 COLLATE NOCASE",
        )
        .bind(name)
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed)?;
        let Some(found) = found else {
            return Ok(None);
        };
        let name: String = found.try_get(0).map_err(failed)?;
        let kind = match found.try_get(1).map_err(failed)? {
            "view" => Kind::View,
            "virtual" => Kind::Virtual,
            "shadow" => Kind::Shadow,
            _ => Kind::Table,
        };
        let without_rowid: bool = found.try_get(2).map_err(failed)?;
        let strict: bool = found.try_get(3).map_err(failed)?;
        let columns = columns(connection, &name, strict).await?;
        let indexes = indexes(connection, &name, &columns).await?;
        let has_null_defaults = columns
            .iter()
            .any(|column| column.null_default != NullDefault::None);
        let is_column = |name: &str| columns.iter().any(|c| c.name.eq_ignore_ascii_case(name));
        let rowid_names: Vec<_> = ROWID_NAMES
            .into_iter()
            .filter(|name| !without_rowid && !is_column(name))
            .collect();
        let key = key(&columns, &indexes, without_rowid, rowid_names.first());
        let rowid = match &key {
            Some(key) if key.is_rowid => Some(key.parts[0].column.name.clone()),
            _ => rowid_names.first().map(|&name| name.to_owned()),
        };
        let exact_key = key.as_ref().is_none_or(|key| !key.merges());
        let mut unique: Vec<_> = indexes
            .into_iter()
            .filter(|index| !(index.primary && exact_key))
            .map(|index| UniqueIndex {
                name: index.name,
                parts: index.parts,
            })
            .collect();
        // The table itself, which is in the order of its row ids.
        if let (Some(key), Some(rowid)) = (&key, &rowid)
            && !key.is_rowid
        {
            unique.push(UniqueIndex {
                name: rowid.clone(),
                parts: Some(vec![row_id(rowid)]),
            });
        }
        Ok(Some(Self {
            name,
            kind,
            key,
            unique,
            rowid,
            rowid_names,
            has_null_defaults,
        }))
    }

    /// The names under which a statement can set a column: the row id has several.
    pub(super) fn names_of<'a>(&'a self, column: &'a Column) -> impl Iterator<Item = &'a str> {
        let name = &*column.name;
        let is_rowid = self.rowid.as_deref() == Some(name);
        let others = self.rowid_names.iter().copied();
        let others = others.filter(move |other| is_rowid && *other != name);
        [name].into_iter().chain(others)
    }
}

async fn columns(
    connection: &mut SqliteConnection,
    table: &str,
    strict: bool,
) -> Result<Vec<Column>> {
    let rows = sqlx::query(
        "SELECT name, type, \"notnull\", dflt_value, pk, hidden
         FROM pragma_table_xinfo(?1, 'main') ORDER BY cid",
    )
    .bind(table)
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    let mut columns = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut column = column(row, strict).map_err(failed)?;
        let default: Option<String> = row.try_get(3).map_err(failed)?;
        if let Some(default) = default.filter(|_| column.not_null) {
            column.null_default = NullDefault::of(&column.declared, strict, &default).await?;
        }
        columns.push(column);
    }
    Ok(columns)
}

fn column(row: &SqliteRow, strict: bool) -> Result<Column, sqlx::Error> {
    let declared: String = row.try_get(1)?;
    Ok(Column {
        name: row.try_get(0)?,
        types: Types::of(&declared, strict),
        generated: row.try_get::<i64, _>(5)? > 1,
        null_default: NullDefault::None,
        not_null: row.try_get(2)?,
        declared,
        key_place: row.try_get(4)?,
    })
}

struct Index {
    name: String,
    primary: bool,
    parts: Option<Vec<Part>>,
}

async fn indexes(
    connection: &mut SqliteConnection,
    table: &str,
    columns: &[Column],
) -> Result<Vec<Index>> {
    let rows = sqlx::query(
        "SELECT l.name, l.origin, l.partial, x.cid, x.coll
         FROM pragma_index_list(?1, 'main') l JOIN pragma_index_xinfo(l.name, 'main') x
         WHERE l.\"unique\" AND x.key ORDER BY l.seq DESC, x.seqno",
    )
    .bind(table)
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    let mut indexes: Vec<Index> = Vec::new();
    for row in rows {
        let name: String = row.try_get(0).map_err(failed)?;
        let origin: &str = row.try_get(1).map_err(failed)?;
        let partial: bool = row.try_get(2).map_err(failed)?;
        let place: i64 = row.try_get(3).map_err(failed)?;
        let collation: String = row.try_get(4).map_err(failed)?;
        let column = usize::try_from(place)
            .ok()
            .and_then(|place| columns.get(place));
        if indexes.last().is_none_or(|last| last.name != name) {
            indexes.push(Index {
                name,
                primary: origin == "pk",
                parts: (!partial).then(Vec::new),
            });
        }
        let parts = indexes.last_mut().map(|index| &mut index.parts);
        match (parts, column) {
            (Some(Some(parts)), Some(column)) => parts.push(Part {
                column: column.clone(),
                collation,
            }),
            (Some(parts), _) => *parts = None,
            (None, _) => {}
        }
    }
    Ok(indexes)
}

/// The row id, as a column of this name.
fn row_id(name: &str) -> Part {
    Part {
        column: Column {
            name: name.to_owned(),
            types: Types::INTEGER,
            generated: false,
            null_default: NullDefault::None,
            not_null: true,
            declared: "INTEGER".to_owned(),
            key_place: 1,
        },
        collation: "BINARY".to_owned(),
    }
}

fn key(
    columns: &[Column],
    indexes: &[Index],
    without_rowid: bool,
    rowid: Option<&&str>,
) -> Option<Key> {
    let mut declared: Vec<&Column> = columns
        .iter()
        .filter(|column| column.key_place > 0)
        .collect();
    declared.sort_by_key(|column| column.key_place);
    let index = indexes.iter().find(|index| index.primary);
    match (&*declared, index) {
        ([], _) => rowid.map(|rowid| Key {
            parts: vec![row_id(rowid)],
            is_rowid: true,
            nullable: None,
        }),
        // The row id under another name, without an index of its own.
        ([column], None) if !without_rowid && column.declared.eq_ignore_ascii_case("INTEGER") => {
            Some(Key {
                parts: vec![row_id(&column.name)],
                is_rowid: true,
                nullable: None,
            })
        }
        _ => {
            let part = |column: &&Column| {
                let parts = index.and_then(|index| index.parts.as_deref());
                let parts = parts.unwrap_or_default().iter();
                let mut named = parts.filter(|part| part.column.name == column.name);
                Part {
                    column: (*column).clone(),
                    collation: named
                        .next()
                        .map_or("BINARY", |part| &part.collation)
                        .to_owned(),
                }
            };
            let nullable = declared
                .iter()
                .find(|column| !column.not_null && !without_rowid);
            Some(Key {
                nullable: nullable.map(|column| column.name.clone()),
                parts: declared.iter().map(part).collect(),
                is_rowid: false,
            })
        }
    }
}
