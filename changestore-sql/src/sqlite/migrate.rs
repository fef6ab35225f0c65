//! Applies the migrations, and tells whether they are applied.

use std::sync::LazyLock;

use changestore_core::{Error, ErrorKind, Operation, Result};
use sqlx::migrate::{AppliedMigration, Migrate as _, MigrateError, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, SqlSafeStr as _};

use super::codes::{self, SQLITE};
use super::statements;
use crate::classify::Cause;
use crate::schema;

/// Not sqlx's own table: the database may carry its owner's migrations beside these.
const TABLE: &str = "changestore_migrations";

static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let migrations = schema::sqlite().iter().map(|migration| {
        sqlx::migrate::Migration::new(
            migration.version,
            migration.name.into(),
            MigrationType::Simple,
            migration.sql.into_sql_str(),
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // "Dangerous" is to change the name of a table that was used before.
    migrator.dangerous_set_table_name(TABLE);
    migrator
});

/// The schema of a database against this library's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Current,
    /// There is none.
    Missing,
    /// It ends with this version.
    Older(i64),
    /// It goes on to this version.
    Newer(i64),
    /// This version is not the one that this library has.
    Altered(i64),
}

/// Why a schema could not be read or migrated.
pub(super) enum Trouble {
    /// Another connection has the lock.
    Locked(Error),
    Other(Error),
}

impl Trouble {
    pub(super) fn new(error: sqlx::Error) -> Self {
        let is_locked = codes::is_locked(&error);
        let error = Cause::new(error, &SQLITE).to_error();
        match is_locked {
            true => Self::Locked(error),
            false => Self::Other(error),
        }
    }
}

/// Compares the database's schema with this library's; changes nothing.
pub(super) async fn state(connection: &mut SqliteConnection) -> Result<State, Trouble> {
    let tables: i64 = sqlx::query_scalar(statements::HAS_MIGRATIONS)
        .fetch_one(&mut *connection)
        .await
        .map_err(Trouble::new)?;
    if tables == 0 {
        return Ok(State::Missing);
    }
    let applied = connection.list_applied_migrations(TABLE).await;
    Ok(compare(&applied.map_err(trouble)?))
}

fn compare(applied: &[AppliedMigration]) -> State {
    let known = || MIGRATOR.iter();
    for migration in applied {
        match known().find(|known| known.version == migration.version) {
            None => return State::Newer(migration.version),
            Some(known) if known.checksum != migration.checksum => {
                return State::Altered(migration.version);
            }
            Some(_) => {}
        }
    }
    match applied.last() {
        Some(last) if applied.len() < known().count() => State::Older(last.version),
        Some(_) => State::Current,
        None => State::Missing,
    }
}

/// Applies what is missing: all of it in one transaction that no other process can come between.
pub(super) async fn apply(connection: &mut SqliteConnection) -> Result<(), Trouble> {
    let begun = connection.begin_with(statements::BEGIN.trim_end()).await;
    let mut transaction = begun.map_err(Trouble::new)?;
    MIGRATOR
        .run_direct(None, &mut *transaction, false)
        .await
        .map_err(trouble)?;
    transaction.commit().await.map_err(Trouble::new)
}

fn trouble(error: MigrateError) -> Trouble {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            Trouble::new(error)
        }
        error => {
            let error = Error::new(ErrorKind::Configuration)
                .with_backend(SQLITE.backend)
                .with_source(error);
            Trouble::Other(error)
        }
    }
}

/// What to tell the user of a schema that cannot be used as it is.
pub(super) fn check(state: &State) -> Result<()> {
    let newest = schema::sqlite().last().map_or(0, |last| last.version);
    let message = match state {
        State::Current => return Ok(()),
        State::Missing => format!(
            "the database has no changestore tables; apply the schema (version {newest}) with \
             SqliteStore::migrate or `changestore schema apply`"
        ),
        State::Older(version) => format!(
            "the database's schema has version {version} and this library needs {newest}; apply it \
             with SqliteStore::migrate or `changestore schema apply`"
        ),
        State::Newer(version) => format!(
            "the database's schema has version {version} and this library knows {newest}; use a \
             newer changestore-sql"
        ),
        State::Altered(version) => format!(
            "migration {version} of the database's schema is not the one of this library: it was \
             edited after it was applied"
        ),
    };
    Err(Error::new(ErrorKind::Configuration)
        .with_backend(SQLITE.backend)
        .with_operation(Operation::Open)
        .with_message(message))
}
