//! What is compared, and the tables that it is compared on.

use changestore_sql::contract::{ContractOwner, ContractPlan, Mode, SchemaGuard};
use rusqlite::Connection;
use tempfile::TempDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Integer,
    Composite,
}

impl Key {
    pub(crate) const ALL: [Self; 2] = [Self::Integer, Self::Composite];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Composite => "composite",
        }
    }

    fn create(self, width: Width) -> String {
        let key = match self {
            Self::Integer => ("id INTEGER PRIMARY KEY", ""),
            Self::Composite => ("a INTEGER, b TEXT", ", PRIMARY KEY(a, b)) WITHOUT ROWID"),
        };
        let (columns, indexes) = match width {
            Width::Narrow => ("", ""),
            Width::Typical => (
                ", state TEXT, author TEXT, number INTEGER, updated_at INTEGER",
                "; CREATE INDEX t_state ON t(state, updated_at)",
            ),
        };
        let end = if key.1.is_empty() { ")" } else { key.1 };
        format!("CREATE TABLE t({}, v TEXT{columns}{end}{indexes}", key.0)
    }

    /// Insert, update, upsert, delete. The parameters are the key's and the text.
    pub(crate) fn statements(self, width: Width) -> [String; 4] {
        let (parameters, text, target, key) = match self {
            Self::Integer => ("?1", "?2", "id", "id = ?1"),
            Self::Composite => ("?1, ?2", "?3", "a, b", "a = ?1 AND b = ?2"),
        };
        let (values, set) = match width {
            Width::Narrow => ("", ""),
            Width::Typical => (
                ", 'open', 'somebody', 17, 1700000000000",
                ", number = number + 1, author = 'somebody else'",
            ),
        };
        let insert = format!("INSERT INTO t VALUES ({parameters}, {text}{values})");
        [
            insert.clone(),
            format!("UPDATE t SET v = {text} || 'x'{set} WHERE {key}"),
            format!("{insert} ON CONFLICT({target}) DO UPDATE SET v = excluded.v{set}"),
            format!("DELETE FROM t WHERE {key} AND {text} <> ''"),
        ]
    }

    fn of(self, row: &str) -> String {
        match self {
            Self::Integer => format!("{row}.id"),
            Self::Composite => format!("json_array({row}.a, {row}.b)"),
        }
    }
}

/// What a row is beside its key: the less it is, the more the journal weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// One short text.
    Narrow,
    /// A text of 200 bytes and four more columns, two of them in an index.
    Typical,
}

impl Width {
    pub(crate) const ALL: [Self; 2] = [Self::Narrow, Self::Typical];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Narrow => "A key and one short text",
            Self::Typical => {
                "Five columns beside the key, 230 bytes, and an index over two of them"
            }
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Self::Narrow => "some text of a row".to_owned(),
            Self::Typical => "some text of a row. ".repeat(10),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// No triggers.
    Bare,
    /// A hand-written trigger with one insert, numbered by the log's row id: no sequence, no last change of the
    /// table, no key change, no pruning.
    Audit,
    TableMode,
    RowsMode,
    /// SQLite's session extension, which records in the memory of one connection; with taking the changeset at the end.
    #[cfg(session_extension)]
    Session,
    /// The contract as its description reads: advance the sequence, append, note the table's last change, in
    /// three statements of each trigger, with a prune trigger of its own.
    Literal,
}

impl Form {
    pub(crate) const ALL: &[Self] = &[
        Self::Bare,
        Self::Audit,
        #[cfg(session_extension)]
        Self::Session,
        Self::TableMode,
        Self::RowsMode,
        Self::Literal,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "no triggers (time of a row)",
            Self::Audit => "audit trigger, one insert",
            #[cfg(session_extension)]
            Self::Session => "session extension, with its changeset",
            Self::TableMode => "contract, table mode",
            Self::RowsMode => "contract, rows mode",
            Self::Literal => "three statements in each trigger",
        }
    }
}

/// A table in a file of its own.
pub(crate) struct Table {
    pub(crate) connection: Connection,
    _folder: TempDir,
}

impl Table {
    pub(crate) fn new(form: Form, key: Key, width: Width) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;",
            )
            .unwrap();
        connection.execute_batch(&key.create(width)).unwrap();
        match form {
            Form::Bare => {}
            #[cfg(session_extension)]
            Form::Session => {}
            Form::Audit => connection.execute_batch(&audit(key)).unwrap(),
            Form::Literal => connection.execute_batch(&literal(key)).unwrap(),
            Form::RowsMode | Form::TableMode => {
                let mode = if form == Form::RowsMode {
                    Mode::Rows
                } else {
                    Mode::Table
                };
                let plan = ContractPlan::new()
                    .with_table("t", mode)
                    .with_family("f", ["t"]);
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let owner = ContractOwner::open(&path, SchemaGuard::Unchecked)
                        .await
                        .unwrap();
                    owner.enable(&plan).await.unwrap();
                });
            }
        }
        Self {
            connection,
            _folder: folder,
        }
    }
}

const EVENTS: [(&str, &str, u8); 3] = [
    ("INSERT", "NEW", 1),
    ("UPDATE", "NEW", 2),
    ("DELETE", "OLD", 3),
];

fn audit(key: Key) -> String {
    let triggers = EVENTS.map(|(event, row, op)| {
        let key = key.of(row);
        format!(
            "CREATE TRIGGER audit_{event} AFTER {event} ON t BEGIN
             INSERT INTO audit(table_id, op, row_key) VALUES (1, {op}, {key}); END;"
        )
    });
    format!(
        "CREATE TABLE audit(seq INTEGER PRIMARY KEY, table_id INTEGER, op INTEGER, row_key);{}",
        triggers.concat()
    )
}

fn literal(key: Key) -> String {
    let triggers = EVENTS.map(|(event, row, op)| {
        let key = key.of(row);
        format!(
            "CREATE TRIGGER literal_{event} AFTER {event} ON t BEGIN
             UPDATE sequence SET value = value + 1;
             INSERT INTO log VALUES ((SELECT value FROM sequence), 1, {op}, {key});
             UPDATE tables SET last_seq = (SELECT value FROM sequence) WHERE table_id = 1; END;"
        )
    });
    format!(
        "CREATE TABLE sequence(value INTEGER NOT NULL, pruned_through INTEGER NOT NULL, next_prune INTEGER NOT NULL);
         INSERT INTO sequence VALUES (0, 0, 1024);
         CREATE TABLE tables(table_id INTEGER PRIMARY KEY, table_name TEXT NOT NULL UNIQUE, last_seq INTEGER NOT NULL);
         INSERT INTO tables VALUES (1, 't', 0);
         CREATE TABLE log(seq INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, op INTEGER NOT NULL
             CHECK (op IN (1, 2, 3)), row_key NOT NULL);
         CREATE TRIGGER prune AFTER INSERT ON log WHEN NEW.seq >= (SELECT next_prune FROM sequence) BEGIN
             DELETE FROM log WHERE seq <= NEW.seq - 1000000;
             UPDATE sequence SET next_prune = NEW.seq + 1024, pruned_through = max(pruned_through, NEW.seq - 1000000);
         END;{}",
        triggers.concat()
    )
}
