//! Applies the migrations, and tells whether they are applied.

use std::sync::LazyLock;

use changestore_core::{Error, ErrorKind, Result};
use sqlx::migrate::{
    AppliedMigration, Migrate as _, MigrateError, Migration, MigrationType, Migrator,
};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, SqlSafeStr as _};

use super::codes::{self, SQLITE};
use super::statements;
use crate::classify::Cause;
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
    /// All was applied, and this table is gone.
    Lacks(&'static str),
    /// This table is there, and nothing says that a migration created it.
    Unrecorded(&'static str),
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
        if is_locked {
            Self::Locked(error)
        } else {
            Self::Other(error)
        }
    }
}

/// Compares the database's schema with this library's; changes nothing.
pub(super) async fn state(connection: &mut SqliteConnection) -> Result<State, Trouble> {
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
    let mut created = CREATED.into_iter();
    let strange = match state {
        State::Current => created.find(|table| !is_there(table)).map(State::Lacks),
        State::Missing => created.find(|table| is_there(table)).map(State::Unrecorded),
        _ => None,
    };
    Ok(strange.unwrap_or(state))
}

fn compare(applied: &[AppliedMigration], known: &[Migration]) -> State {
    for migration in applied {
        match known
            .iter()
            .find(|known| known.version == migration.version)
        {
            None => return State::Newer(migration.version),
            Some(known) if known.checksum != migration.checksum => {
                return State::Altered(migration.version);
            }
            Some(_) => {}
        }
    }
    match applied.last() {
        Some(last) if applied.len() < known.len() => State::Older(last.version),
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
            let error = Error::new(ErrorKind::Configuration).with_source(error);
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
        State::Lacks(table) => format!(
            "the schema was applied, and the table {table} is gone; restore it from a backup"
        ),
        State::Unrecorded(table) => format!(
            "there is a table {table}, and no record in changestore_migrations of the schema that \
             created it"
        ),
    };
    Err(Error::new(ErrorKind::Configuration).with_message(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(versions: &[i64]) -> Vec<Migration> {
        let migration = |version: &i64| {
            let sql = "SELECT 1".into_sql_str();
            Migration::new(*version, "test".into(), MigrationType::Simple, sql, false)
        };
        versions.iter().map(migration).collect()
    }

    fn applied(versions: &[i64]) -> Vec<AppliedMigration> {
        let applied = known(versions)
            .into_iter()
            .map(|migration| AppliedMigration {
                version: migration.version,
                checksum: migration.checksum,
            });
        applied.collect()
    }

    #[test]
    fn a_schema_is_current_missing_older_newer_or_altered() {
        let ours = known(&[1, 2]);
        assert_eq!(compare(&applied(&[1, 2]), &ours), State::Current);
        assert_eq!(compare(&applied(&[]), &ours), State::Missing);
        assert_eq!(compare(&applied(&[1]), &ours), State::Older(1));
        assert_eq!(compare(&applied(&[1, 2, 3]), &ours), State::Newer(3));
        let mut altered = applied(&[1, 2]);
        altered[1].checksum = vec![0].into();
        assert_eq!(compare(&altered, &ours), State::Altered(2));
    }

    #[test]
    fn each_state_but_the_current_is_refused_in_words() {
        assert!(check(&State::Current).is_ok());
        for (state, words) in [
            (State::Missing, "no changestore tables"),
            (State::Older(0), "version 0 and this library needs"),
            (State::Newer(9), "version 9 and this library knows"),
            (State::Altered(1), "migration 1"),
            (State::Lacks("t"), "the table t is gone"),
            (State::Unrecorded("t"), "there is a table t"),
        ] {
            let error = check(&state).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
