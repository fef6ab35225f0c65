//! Applies the migrations, and tells whether they are applied.

use std::sync::LazyLock;

use changestore_core::{Error, ErrorKind, Result};
use sqlx::migrate::{Migrate as _, MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, SqlSafeStr as _};

use super::codes::{self, SQLITE};
use super::statements;
use crate::flow::classify::Cause;
use crate::flow::migrations::{State, compare};
use crate::schema;

/// Not sqlx's own table: the database may carry its owner's migrations beside these.
const TABLE: &str = "changestore_migrations";

/// What the migrations create.
const CREATED: [&str; 2] = ["changestore_claims", "changestore_documents"];

static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let migrations = schema::sqlite().iter().map(|migration| {
        Migration::new(
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
        if is_locked {
            Self::Locked(error)
        } else {
            Self::Other(error)
        }
    }
}

/// Compares the database's schema with this library's; changes nothing.
pub(super) async fn state(connection: &mut SqliteConnection) -> Result<State, Trouble> {
    let state = read_state(connection).await?;
    if state.is_contradictory() {
        return read_state(connection).await;
    }
    Ok(state)
}

async fn read_state(connection: &mut SqliteConnection) -> Result<State, Trouble> {
    let tables: Vec<String> = sqlx::query_scalar(statements::TABLES)
        .fetch_all(&mut *connection)
        .await
        .map_err(Trouble::new)?;
    let is_there = |table: &str| tables.iter().any(|found| found == table);
    let state = if is_there(TABLE) {
        let applied = connection.list_applied_migrations(TABLE).await;
        compare(&applied.map_err(trouble)?, &MIGRATOR.migrations)
    } else {
        State::Missing
    };
    Ok(state.with_tables(CREATED, is_there))
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
            let error = Error::new(ErrorKind::Configuration).with_source(error);
            Trouble::Other(error)
        }
    }
}

/// Refuses a schema that cannot be used as it is.
pub(super) fn check(state: &State) -> Result<()> {
    let newest = schema::sqlite().last().map_or(0, |last| last.version);
    state.check("SqliteStore", newest)
}
