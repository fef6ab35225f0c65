//! Applies the migrations, and tells whether they are applied.
//!
//! The statements are sent as texts, each group in one transaction: this works behind a pooler in transaction
//! mode, where sqlx's own migrator would lock one connection to the server and unlock another.

use std::collections::HashSet;

use changestore_core::{Error, ErrorKind, Result};
use sqlx::migrate::{AppliedMigration, Migration, MigrationType};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _, SqlSafeStr as _};

use super::codes::POSTGRES;
use super::tables::Tables;
use super::value::{Value, written_out};
use crate::flow::classify::Cause;
use crate::flow::migrations::{State, compare};
use crate::schema;

/// What the migrations create.
const CREATED: [&str; 2] = ["claims", "documents"];

/// Of the library, for all its tables in a database: "changesto" in ASCII.
const LOCK: i64 = 0x6368_616e_6765_7374;

/// Not sqlx's own table: the database may carry its owner's migrations beside these.
const CREATE_TABLE: &str = "\
CREATE TABLE IF NOT EXISTS changestore_migrations (
    version      bigint      PRIMARY KEY,
    description  text        NOT NULL,
    installed_on timestamptz NOT NULL DEFAULT now(),
    checksum     bytea       NOT NULL
)";

/// In hexadecimal, whatever `bytea_output` the server prefers for texts.
const APPLIED: &str =
    "SELECT version, encode(checksum, 'hex') FROM changestore_migrations ORDER BY version";

/// What the order of keys depends on, and whether names without a schema mean anything.
const SURROUNDINGS: &str = "SELECT current_setting('server_encoding'), current_schema()";

const RECORD: &str = "\
INSERT INTO changestore_migrations (version, description, checksum) VALUES ($1, $2, $3)";

/// The table of a name, if there is one.
const IS_THERE: &str = "SELECT to_regclass($1) IS NOT NULL";

/// Compares the database's schema with this library's; changes nothing.
pub(super) async fn state(connection: &mut PgConnection, tables: &Tables) -> Result<State> {
    let surroundings = connection.fetch_one(text(SURROUNDINGS.to_owned()));
    let row = surroundings.await.map_err(failed)?;
    let encoding: &str = row.try_get(0).map_err(failed)?;
    if encoding != "UTF8" {
        // Others sort otherwise, and cannot hold every key.
        return Err(Error::new(ErrorKind::Configuration).with_message(format!(
            "the database's encoding is {encoding}; it must be UTF8"
        )));
    }
    let schema: Option<&str> = row.try_get(1).map_err(failed)?;
    if schema.is_none() && tables.schema().is_none() {
        return Err(Error::new(ErrorKind::PermissionDenied).with_message(
            "no schema of the search_path is there and may be used by this role (USAGE)",
        ));
    }
    let mut state = read_state(connection, tables).await.map_err(failed)?;
    if state.is_contradictory() {
        state = read_state(connection, tables).await.map_err(failed)?;
    }
    Ok(state)
}

async fn read_state(connection: &mut PgConnection, tables: &Tables) -> Result<State, sqlx::Error> {
    let mut there = HashSet::new();
    for table in ["migrations"].into_iter().chain(CREATED) {
        let name = tables.table(table);
        let sql = written_out(IS_THERE, &[name.as_str().into()]);
        let row = connection.fetch_one(text(sql)).await?;
        if row.try_get(0)? {
            there.insert(table);
        }
    }
    let state = if there.contains("migrations") {
        let rows = connection.fetch_all(text(tables.name_in(APPLIED))).await?;
        let applied: Result<Vec<AppliedMigration>, sqlx::Error> = rows
            .iter()
            .map(|row| {
                Ok(AppliedMigration {
                    version: row.try_get(0)?,
                    checksum: bytes(row.try_get(1)?).into(),
                })
            })
            .collect();
        compare(&applied?, &known())
    } else {
        State::Missing
    };
    Ok(state.with_tables(CREATED, |table| there.contains(table)))
}

/// Applies what is missing, in one transaction; of several that come at once each waits for the one
/// before, and finds everything applied.
pub(super) async fn apply(connection: &mut PgConnection, tables: &Tables) -> Result<()> {
    let current = state(connection, tables).await?;
    let (State::Missing | State::Older(_)) = current else {
        return check(&current);
    };
    let mut transaction = connection.begin().await.map_err(failed)?;
    let lock = format!("SELECT pg_advisory_xact_lock({LOCK})");
    transaction.execute(text(lock)).await.map_err(failed)?;
    if let Some(schema) = tables.schema() {
        let sql = format!("CREATE SCHEMA IF NOT EXISTS {schema}");
        transaction.execute(text(sql)).await.map_err(failed)?;
    }
    // Another one may have been first; its tables are seen by a new statement, not by an older snapshot.
    let current = state(&mut transaction, tables).await?;
    let last = match current {
        State::Missing => 0,
        State::Older(version) => version,
        other => return check(&other),
    };
    let create = tables.name_in(CREATE_TABLE);
    transaction.execute(text(create)).await.map_err(failed)?;
    for migration in known().iter().filter(|migration| migration.version > last) {
        let sql = tables.name_in(migration.sql.as_str());
        transaction.execute(text(sql)).await.map_err(failed)?;
        let values = [
            migration.version.into(),
            migration.description.as_ref().into(),
            Value::Bytes(&migration.checksum),
        ];
        let record = written_out(&tables.name_in(RECORD), &values);
        transaction.execute(text(record)).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

/// Refuses a schema that cannot be used as it is.
pub(super) fn check(state: &State) -> Result<()> {
    let newest = schema::postgres().last().map_or(0, |last| last.version);
    state.check("PostgresStore", newest)
}

/// With the checksums of the files, whatever the tables are called.
fn known() -> Vec<Migration> {
    let migration = |migration: &schema::Migration| {
        Migration::new(
            migration.version,
            migration.name.into(),
            MigrationType::Simple,
            migration.sql.into_sql_str(),
            false,
        )
    };
    schema::postgres().iter().map(migration).collect()
}

/// Of hexadecimal digits; a checksum of anything else is nobody's.
fn bytes(hex: &str) -> Vec<u8> {
    let (pairs, _) = hex.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map_while(byte).collect()
}

fn text(sql: String) -> sqlx::RawSql {
    sqlx::raw_sql(AssertSqlSafe(sql))
}

fn failed(error: sqlx::Error) -> Error {
    Cause::new(error, &POSTGRES).to_error()
}
