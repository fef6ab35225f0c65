//! A database's schema against this library's, and the words for it.

use changestore_core::{Error, ErrorKind, Result};
use sqlx::migrate::{AppliedMigration, Migration};

/// The schema of a database against this library's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
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
    Lacks(String),
    /// This table is there, and nothing says that a migration created it.
    Unrecorded(String),
}

/// What the migrations that were applied come down to.
pub(crate) fn compare(applied: &[AppliedMigration], known: &[Migration]) -> State {
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

impl State {
    /// The same, unless one of the migrations' tables is not where it belongs.
    pub(crate) fn with_tables<'t>(
        self,
        created: impl IntoIterator<Item = &'t str>,
        is_there: impl Fn(&str) -> bool,
    ) -> Self {
        let mut created = created.into_iter();
        let strange = match self {
            Self::Current => created
                .find(|table| !is_there(table))
                .map(|table| Self::Lacks(table.to_owned())),
            Self::Missing => created
                .find(|table| is_there(table))
                .map(|table| Self::Unrecorded(table.to_owned())),
            _ => None,
        };
        strange.unwrap_or(self)
    }

    /// Whether the tables contradict the record of the migrations. The two are read one after the other, and
    /// another process may migrate between: only what is seen twice is so.
    pub(crate) fn is_contradictory(&self) -> bool {
        matches!(self, Self::Lacks(_) | Self::Unrecorded(_))
    }

    /// What to tell the user of a schema that cannot be used as it is. `store` is the type that has
    /// `migrate`, `newest` this library's version.
    pub(crate) fn check(&self, store: &str, newest: i64) -> Result<()> {
        let message = match self {
            Self::Current => return Ok(()),
            Self::Missing => format!(
                "the database has no changestore tables; apply the schema (version {newest}) with \
                 {store}::migrate or `changestore schema apply`"
            ),
            Self::Older(version) => format!(
                "the database's schema has version {version} and this library needs {newest}; apply it \
                 with {store}::migrate or `changestore schema apply`"
            ),
            Self::Newer(version) => format!(
                "the database's schema has version {version} and this library knows {newest}; use a \
                 newer changestore-sql"
            ),
            Self::Altered(version) => format!(
                "migration {version} of the database's schema is not the one of this library: it was \
                 edited after it was applied"
            ),
            Self::Lacks(table) => format!(
                "the schema was applied, and the table {table} is gone; restore it from a backup"
            ),
            Self::Unrecorded(table) => format!(
                "there is a table {table}, and no record of the schema that created it in the table \
                 of the migrations"
            ),
        };
        Err(Error::new(ErrorKind::Configuration).with_message(message))
    }
}

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr as _;
    use sqlx::migrate::MigrationType;

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
    fn a_table_too_many_or_too_few_is_told() {
        let tables = ["claims", "documents"];
        let only_claims = |table: &str| table == "claims";
        assert_eq!(
            State::Current.with_tables(tables, only_claims),
            State::Lacks("documents".to_owned())
        );
        assert_eq!(
            State::Missing.with_tables(tables, only_claims),
            State::Unrecorded("claims".to_owned())
        );
        assert_eq!(
            State::Older(1).with_tables(tables, only_claims),
            State::Older(1)
        );
        assert_eq!(State::Current.with_tables(tables, |_| true), State::Current);
    }

    #[test]
    fn each_state_but_the_current_is_refused_in_words() {
        assert!(State::Current.check("Store", 1).is_ok());
        for (state, words) in [
            (State::Missing, "no changestore tables"),
            (State::Older(0), "version 0 and this library needs"),
            (State::Newer(9), "version 9 and this library knows"),
            (State::Altered(1), "migration 1"),
            (State::Lacks("t".to_owned()), "the table t is gone"),
            (State::Unrecorded("t".to_owned()), "there is a table t"),
        ] {
            let error = state.check("Store", 1).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
