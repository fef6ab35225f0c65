//! An archive with tables of every key shape, and a consumer that keeps a copy of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use changestore_sql::contract::{
    ContractOwner, ContractPlan, ContractReader, Cursor, Poll, SchemaGuard,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::typed;

/// Tables in rows mode: name, key columns, all columns (the key's among them).
pub(crate) const TABLES: &[(&str, &[&str], &[&str])] = &[
    ("plain", &["id"], &["id", "v"]),
    ("child", &["id"], &["id", "parent", "v"]),
    ("nocase", &["name"], &["name", "v"]),
    ("mixed", &["k"], &["k", "v"]),
    ("heap", &["rowid"], &["rowid", "v", "u"]),
    ("pair", &["a", "b"], &["a", "b", "v"]),
    ("gauge", &["r", "t"], &["r", "t", "v"]),
    ("a b", &["x\"y", "order"], &["order", "x\"y", "Ünï", "u"]),
];

/// A table in table mode, and one that is not tracked.
pub(crate) const SCHEMA: &str = r#"
    CREATE TABLE plain(id INTEGER PRIMARY KEY, v);
    CREATE TABLE child(id INTEGER PRIMARY KEY, v,
        parent INTEGER REFERENCES plain(id) ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE nocase(name TEXT NOT NULL PRIMARY KEY COLLATE NOCASE, v);
    CREATE TABLE mixed(k NOT NULL PRIMARY KEY, v);
    CREATE TABLE heap(v, u UNIQUE);
    CREATE TABLE pair(a INTEGER NOT NULL, b TEXT NOT NULL, v, PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE TABLE gauge(r REAL NOT NULL, t NOT NULL, v, PRIMARY KEY(r, t));
    CREATE TABLE "a b"("order" TEXT NOT NULL COLLATE RTRIM, "x""y" BLOB NOT NULL, "Ünï", u UNIQUE,
        PRIMARY KEY("x""y", "order"));
    CREATE TABLE counts(id INTEGER PRIMARY KEY, v);
    CREATE TABLE other(id INTEGER PRIMARY KEY, v);
"#;

/// What the archive's owner tracks: `rows`, all tables in rows mode, and `counted`, one of them and the one in
/// table mode.
pub(crate) const PLAN: &str = r#"
    retention = 1024
    [tables]
    plain = "rows"
    child = "rows"
    nocase = "rows"
    mixed = "rows"
    heap = "rows"
    pair = "rows"
    gauge = "rows"
    "a b" = "rows"
    counts = "table"
    [families]
    rows = ["plain", "child", "nocase", "mixed", "heap", "pair", "gauge", "a b"]
    counted = ["plain", "counts"]
"#;

pub(crate) fn plan() -> ContractPlan {
    ContractPlan::from_toml(PLAN).unwrap()
}

/// In memory where there is such a place: none of this outlives a loss of power, and syncing takes longer than all
/// else.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// A file in a folder of its own.
pub(crate) struct Archive {
    pub(crate) path: PathBuf,
    _folder: TempDir,
}

impl Archive {
    /// With the tables, before the contract.
    pub(crate) fn bare() -> Self {
        let folder = folder();
        let path = folder.path().join("archive.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "journal_mode", "wal")
            .unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        Self {
            path,
            _folder: folder,
        }
    }

    /// With the contract.
    pub(crate) async fn enabled() -> Self {
        let archive = Self::bare();
        archive.owner().await.enable(&plan()).await.unwrap();
        archive
    }

    /// A file of its own with another one's content.
    pub(crate) fn copy_of(file: &Path) -> Self {
        let folder = folder();
        let path = folder.path().join("archive.db");
        std::fs::copy(file, &path).unwrap();
        Self {
            path,
            _folder: folder,
        }
    }

    pub(crate) async fn owner(&self) -> ContractOwner {
        ContractOwner::open(&self.path, SchemaGuard::Unchecked)
            .await
            .unwrap()
    }

    pub(crate) fn connect(&self) -> Connection {
        connect(&self.path)
    }

    pub(crate) fn run(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap();
    }

    pub(crate) async fn reader(&self, family: &str) -> ContractReader {
        ContractReader::open(&self.path, family).await.unwrap()
    }
}

pub(crate) fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON;")
        .unwrap();
    connection
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Rows by table and key.
pub(crate) type Copy = BTreeMap<(String, Vec<String>), Vec<String>>;

/// All rows of these tables.
pub(crate) fn full_read(connection: &Connection, tables: &[&str]) -> Copy {
    let mut copy = Copy::new();
    for (table, key, columns) in TABLES.iter().filter(|(table, ..)| tables.contains(table)) {
        let list: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
        let sql = format!("SELECT {} FROM {}", list.join(", "), quoted(table));
        let mut statement = connection.prepare_cached(&sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..columns.len())
                .map(|place| typed::stored(row.get_ref(place).unwrap()))
                .collect();
            let key = key.iter().map(|part| {
                let place = columns.iter().position(|column| column == part).unwrap();
                values[place].clone()
            });
            copy.insert(((*table).to_owned(), key.collect()), values);
        }
    }
    copy
}

/// A consumer: keeps a copy of a family's tables in rows mode, by what the reader says and nothing else.
pub(crate) struct Consumer {
    pub(crate) reader: ContractReader,
    pub(crate) tables: Vec<&'static str>,
    pub(crate) cursor: Option<Cursor>,
    pub(crate) copy: Copy,
    /// Used for full reads alone.
    pub(crate) connection: Connection,
}

impl Consumer {
    pub(crate) async fn new(
        path: &Path,
        family: &str,
        tables: &[&'static str],
        batch: u32,
    ) -> Self {
        let reader = ContractReader::open(path, family).await.unwrap();
        Self {
            reader: reader.with_batch(batch),
            tables: tables.to_vec(),
            cursor: None,
            copy: Copy::new(),
            connection: connect(path),
        }
    }

    /// One poll, and what follows from it. Each row is read in the snapshot of the poll.
    pub(crate) async fn step(&mut self) -> Poll {
        let mut snapshot = self.reader.snapshot(self.cursor.as_ref()).await.unwrap();
        let poll = snapshot.poll().clone();
        match &poll {
            Poll::Unchanged { .. } => {}
            Poll::Rows(_) => {
                for (table, _, columns) in TABLES {
                    for row in snapshot.rows(table, columns).await.unwrap() {
                        let key = ((*table).to_owned(), typed::key(&row.key));
                        match row.values {
                            Some(values) => {
                                let values = values.iter().map(typed::ours).collect();
                                self.copy.insert(key, values)
                            }
                            None => self.copy.remove(&key),
                        };
                    }
                }
            }
            Poll::Rebuild { .. } => self.copy = full_read(&self.connection, &self.tables),
        }
        snapshot.end().await.unwrap();
        self.cursor = poll.next().cloned();
        poll
    }

    /// Polls until nothing is left to be read; says what the first poll said.
    pub(crate) async fn catch_up(&mut self) -> Poll {
        let first = self.step().await;
        let mut poll = first.clone();
        while matches!(&poll, Poll::Rows(changes) if changes.more) {
            poll = self.step().await;
        }
        first
    }

    /// The copy is what the archive holds.
    pub(crate) fn check(&self, after: &str) {
        let truth = full_read(&self.connection, &self.tables);
        assert_eq!(
            self.copy, truth,
            "the copy is not the archive after {after}"
        );
    }
}
