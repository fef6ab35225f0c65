//! Applies the migrations, and tells whether they are applied.
//!
//! Each CREATE or ALTER commits by itself here, so there is no transaction around a migration. Instead one process
//! at a time migrates a database (`GET_LOCK`), every statement of a migration is one that can be repeated, and a
//! migration is noted when it is through. One that was interrupted is run again from its beginning.

use std::sync::LazyLock;
use std::time::Duration;

use changestore_core::{Error, ErrorKind, Result};
use sqlx::migrate::{Migrate as _, MigrateError, Migration, MigrationType};
use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr as _, query, raw_sql};

use super::codes::MYSQL;
use super::tables::Tables;
use crate::flow::classify::Cause;
use crate::flow::migrations::{State, compare};
use crate::schema;

/// Known by their texts with the default prefix, whatever the tables are called.
static MIGRATIONS: LazyLock<Vec<Migration>> = LazyLock::new(|| {
    let migrations = schema::mysql().iter().map(|migration| {
        Migration::new(
            migration.version,
            migration.name.into(),
            MigrationType::Simple,
            migration.sql.into_sql_str(),
            true,
        )
    });
    migrations.collect()
});

/// One lock for each database, whatever the tables are called; a lock's name has at most 64 characters.
const LOCK: &str = "SELECT GET_LOCK(LEFT(CONCAT('changestore ', DATABASE()), 64), ?)";
const UNLOCK: &str = "SELECT RELEASE_LOCK(LEFT(CONCAT('changestore ', DATABASE()), 64))";

/// Which of three tables are there.
const TABLES: &str = "\
SELECT table_name FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN (?, ?, ?)";

/// Compares the database's schema with this library's; changes nothing.
pub(super) async fn state(connection: &mut MySqlConnection, tables: &Tables) -> Result<State> {
    let state = read_state(connection, tables).await?;
    if state.is_contradictory() {
        return read_state(connection, tables).await;
    }
    Ok(state)
}

async fn read_state(connection: &mut MySqlConnection, tables: &Tables) -> Result<State> {
    let created = [tables.claims(), tables.documents()];
    let rows = query(TABLES)
        .bind(tables.migrations())
        .bind(&created[0])
        .bind(&created[1])
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    let found: Vec<String> = rows.iter().filter_map(name).collect();
    let is_there = |table: &str| found.iter().any(|found| found == table);
    let created = created.iter().map(String::as_str);
    if !is_there(&tables.migrations()) {
        return Ok(State::Missing.with_tables(created, is_there));
    }
    let applied = connection
        .list_applied_migrations(&tables.migrations())
        .await
        .map_err(trouble)?;
    Ok(match compare(&applied, &MIGRATIONS) {
        // The first migration was begun; whatever tables there are, are its own.
        State::Missing => State::Missing,
        state => state.with_tables(created, is_there),
    })
}

/// MySQL 8 sends the names of its own tables as bytes.
fn name(row: &MySqlRow) -> Option<String> {
    String::from_utf8(row.try_get(0).ok()?).ok()
}

/// Applies what is missing. A database that is up to date is only read.
pub(super) async fn apply(
    connection: &mut MySqlConnection,
    tables: &Tables,
    lock_timeout: Duration,
) -> Result<()> {
    let (State::Missing | State::Older(_)) = usable(connection, tables).await? else {
        return Ok(());
    };
    let seconds = i64::try_from(lock_timeout.as_secs().max(1)).unwrap_or(i64::MAX);
    let got = query(LOCK)
        .bind(seconds)
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if got.try_get::<Option<i64>, _>(0).map_err(failed)? != Some(1) {
        return Err(Error::new(ErrorKind::Unavailable)
            .with_message("another process has been migrating the schema for too long"));
    }
    let applied = apply_all(connection, tables).await;
    // If this fails the connection is lost, and the lock with it.
    let _ = query(UNLOCK).fetch_all(connection).await;
    applied
}

/// The state, if this library can do something with it.
async fn usable(connection: &mut MySqlConnection, tables: &Tables) -> Result<State> {
    let state = state(connection, tables).await?;
    match state {
        State::Missing | State::Older(_) => {}
        _ => check(&state)?,
    }
    Ok(state)
}

/// Whoever held the lock before may have done it all.
async fn apply_all(connection: &mut MySqlConnection, tables: &Tables) -> Result<()> {
    let done = match usable(connection, tables).await? {
        State::Older(version) => version,
        State::Missing => 0,
        _ => return Ok(()),
    };
    let table = tables.migrations();
    connection
        .ensure_migrations_table(&table)
        .await
        .map_err(trouble)?;
    for migration in MIGRATIONS.iter().filter(|next| next.version > done) {
        let sql = tables.put_into(migration.sql.as_str());
        raw_sql(AssertSqlSafe(sql))
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
        connection.skip(&table, migration).await.map_err(trouble)?;
    }
    Ok(())
}

/// Refuses a schema that cannot be used as it is.
pub(super) fn check(state: &State) -> Result<()> {
    let newest = MIGRATIONS.last().map_or(0, |last| last.version);
    state.check("MySqlStore", newest)
}

pub(super) fn failed(error: sqlx::Error) -> Error {
    Cause::new(error, &MYSQL).to_error()
}

fn trouble(error: MigrateError) -> Error {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failed(error),
        error => Error::new(ErrorKind::Configuration).with_source(error),
    }
}
