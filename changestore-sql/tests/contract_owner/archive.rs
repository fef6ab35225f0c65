//! A database with a contract, written to by another driver than the library's.

use std::path::PathBuf;

use changestore_sql::contract::{ContractOwner, ContractPlan, Mode, SchemaGuard};
use rusqlite::Connection;
use tempfile::TempDir;

/// A file in a folder of its own, and a connection of somebody who knows nothing of the contract.
pub(crate) struct Archive {
    pub(crate) path: PathBuf,
    pub(crate) writer: Connection,
    pub(crate) owner: ContractOwner,
    _folder: TempDir,
}

/// A log entry: sequence value, table, op, and the key as an SQL literal.
pub(crate) type Entry = (i64, String, i64, String);

impl Archive {
    /// With a schema, and no contract.
    pub(crate) async fn bare(schema: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        let writer = Connection::open(&path).unwrap();
        writer
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON;",
            )
            .unwrap();
        writer.execute_batch(schema).unwrap();
        let owner = ContractOwner::open(&path, SchemaGuard::Unchecked)
            .await
            .unwrap();
        Self {
            path,
            writer,
            owner,
            _folder: folder,
        }
    }

    /// With these tables tracked in rows mode, all of them the family `f`.
    pub(crate) async fn tracking(schema: &str, tables: &[&str]) -> Self {
        let archive = Self::bare(schema).await;
        archive.owner.enable(&plan(tables)).await.unwrap();
        archive
    }

    pub(crate) fn run(&self, sql: &str) {
        self.writer
            .execute_batch(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// A number, or what is one.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.writer
            .query_row(sql, [], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) fn text(&self, sql: &str) -> String {
        self.writer
            .query_row(sql, [], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) fn seq(&self) -> i64 {
        self.number("SELECT value FROM change_contract_sequence")
    }

    pub(crate) fn log(&self) -> Vec<Entry> {
        self.log_after(0)
    }

    pub(crate) fn log_after(&self, seq: i64) -> Vec<Entry> {
        self.writer
            .prepare_cached(
                "SELECT l.seq, t.table_name, l.op, quote(l.row_key) FROM change_contract_log l
                 JOIN change_contract_tables t USING (table_id) WHERE l.seq > ?1 ORDER BY l.seq",
            )
            .unwrap()
            .query_map([seq], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    /// Ops and keys alone.
    pub(crate) fn changes_after(&self, seq: i64) -> Vec<(i64, String)> {
        self.log_after(seq)
            .into_iter()
            .map(|(_, _, op, key)| (op, key))
            .collect()
    }

    /// What the armed check of the reader's SQL counts for the family `f`.
    pub(crate) fn unarmed(&self) -> i64 {
        self.number(
            "SELECT count(*) FROM change_contract_families f
             JOIN sqlite_schema m ON m.type = 'table' AND m.name = f.table_name
             LEFT JOIN change_contract_tables t ON t.table_name = f.table_name
             WHERE f.family = 'f'
               AND (t.table_id IS NULL OR (SELECT count(*) FROM sqlite_schema s
                    WHERE s.type = 'trigger' AND s.tbl_name = t.table_name
                      AND s.sql IN (t.insert_trigger, t.update_trigger, t.delete_trigger)) <> 3)",
        )
    }

    /// All objects of the contract that the database has.
    pub(crate) fn objects(&self) -> Vec<(String, String)> {
        self.writer
            .prepare(
                "SELECT type, name FROM sqlite_schema WHERE name LIKE 'change\\_contract%' ESCAPE '\\'
                 ORDER BY type, name",
            )
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }
}

pub(crate) fn plan(tables: &[&str]) -> ContractPlan {
    let plan = ContractPlan::new().with_family("f", tables.iter().copied());
    tables
        .iter()
        .fold(plan, |plan, table| plan.with_table(*table, Mode::Rows))
}
