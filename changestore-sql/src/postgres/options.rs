//! How a store on PostgreSQL is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Clock, Result};
use sqlx::postgres::{PgConnectOptions, PgPool};
use sqlx::{ConnectOptions as _, Postgres};

use super::session::Protocol;
use super::tables::Tables;
use super::url::{Location, refuse};
use crate::server::{Settings, Source};

/// How to open a store: which database, and the rest with a default.
///
/// `Debug` prints neither the password nor the rest of the URL but host, port, user and database.
///
/// ```
/// use changestore_sql::PostgresOptions;
/// use std::time::Duration;
///
/// let options = PostgresOptions::new("postgres://queue@db.example.com/queue?sslmode=verify-full")?
///     .with_schema("changes")?
///     .with_operation_timeout(Duration::from_secs(10));
/// # let _ = options;
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Clone)]
pub struct PostgresOptions {
    database: Database,
    pub(super) tables: Tables,
    pub(super) protocol: Protocol,
    pub(super) settings: Settings,
}

#[derive(Clone)]
enum Database {
    At(Box<PgConnectOptions>),
    Of(PgPool),
}

impl PostgresOptions {
    /// The database at a URL: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///
    /// Parameters are the driver's (`sslmode`, `sslrootcert`, `application_name`, …) and `schema`,
    /// `table_prefix`, `connections` and `prepared_statements=true|false`, which are the methods of the
    /// same names. What the URL does not say is taken from the environment (`PGHOST`, `PGPASSWORD`, …) and the
    /// password from `~/.pgpass`, as with PostgreSQL's own programs.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for another scheme, an unknown
    /// parameter or a value that is none; it does not repeat the URL.
    pub fn new(url: &str) -> Result<Self> {
        let Location {
            connect,
            parameters,
        } = Location::parse(url)?;
        // Statements are not logged: their texts are the library's, and looking costs time.
        let connect = connect.disable_statement_logging();
        let mut options = Self::with_database(Database::At(Box::new(connect)));
        for (name, value) in parameters {
            options = match name {
                "schema" => options.with_schema(&value)?,
                "table_prefix" => options.with_table_prefix(&value)?,
                "connections" => match value.parse() {
                    Ok(connections) => options.with_connections(connections),
                    Err(_) => return Err(refuse("connections is no number")),
                },
                _ => match value.parse() {
                    Ok(prepared) => options.with_prepared_statements(prepared),
                    Err(_) => return Err(refuse("prepared_statements is true or false")),
                },
            };
        }
        Ok(options)
    }

    /// The user's own pool. Connections are taken from it while there is work, and go back when they were idle for
    /// a second; at most as many as the pool may have.
    #[must_use]
    pub fn from_pool(pool: PgPool) -> Self {
        let most = pool.options().get_max_connections();
        let options = Self::with_database(Database::Of(pool));
        let connections = usize::try_from(most).unwrap_or(usize::MAX);
        let connections = connections.min(options.settings.connections);
        options.with_connections(connections)
    }

    fn with_database(database: Database) -> Self {
        Self {
            database,
            tables: Tables::default(),
            protocol: Protocol::Prepared,
            settings: Settings::default(),
        }
    }

    /// The clock that decides what has expired; the system's by default.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// The PostgreSQL schema that the tables are in; by default the first one of the search path. It must be
    /// there: only [`migrate`](super::PostgresStore::migrate) creates it.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for what is not 1 to 63 lower-case
    /// letters, digits and underscores.
    pub fn with_schema(mut self, schema: &str) -> Result<Self> {
        self.tables.set_schema(schema)?;
        Ok(self)
    }

    /// What the tables' names begin with; `changestore_` by default.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for what is not 1 to 53 lower-case
    /// letters, digits and underscores.
    pub fn with_table_prefix(mut self, prefix: &str) -> Result<Self> {
        self.tables.set_prefix(prefix)?;
        Ok(self)
    }

    /// How many connections there are at most, at least 1 whatever is said; 10 by default. They are opened when
    /// they are first needed.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.settings.connections = connections.max(1);
        self
    }

    /// For how long an operation may take in all: waiting for a connection, for locks and conflicts, and for the
    /// server's answer. 30 seconds by default. A write that was sent and not answered is
    /// [`Unknown`](changestore_core::Outcome::Unknown) then.
    #[must_use]
    pub fn with_operation_timeout(mut self, timeout: Duration) -> Self {
        self.settings.operation_timeout = timeout;
        self
    }

    /// For how long an operation waits for a server that cannot be reached, such as one that is just being
    /// restarted, before it fails as [`Unavailable`](changestore_core::ErrorKind::Unavailable). 5 seconds by
    /// default.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Whether statements are prepared; yes by default. Turn it off behind `PgBouncer` in transaction mode and
    /// its like: each statement is then one text that needs nothing of the session, and no setting of
    /// the session is touched.
    #[must_use]
    pub fn with_prepared_statements(mut self, prepared: bool) -> Self {
        self.protocol = if prepared {
            Protocol::Prepared
        } else {
            Protocol::Simple
        };
        self
    }

    pub(super) fn source(&self) -> Source<Postgres> {
        match &self.database {
            Database::At(connect) => Source::Own(connect.clone()),
            Database::Of(pool) => Source::Pool(pool.clone()),
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = f.debug_struct("PostgresOptions");
        match &self.database {
            Database::At(connect) => printed
                .field("host", &connect.get_host())
                .field("port", &connect.get_port())
                .field("user", &connect.get_username())
                .field("database", &connect.get_database()),
            Database::Of(_) => printed.field("pool", &format_args!("the user's")),
        };
        printed
            .field("tables", &self.tables)
            .field("protocol", &self.protocol)
            .field("settings", &self.settings)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_password() {
        let options =
            PostgresOptions::new("postgres://u:secret@h/d?schema=s&connections=0").unwrap();
        let printed = format!("{options:?}");
        assert!(!printed.contains("secret"), "{printed}");
        assert!(printed.contains(r#"host: "h""#), "{printed}");
        assert_eq!(options.settings.connections, 1);
    }

    #[test]
    fn values_that_are_none_are_refused() {
        for parameter in [
            "schema=A",
            "table_prefix=1",
            "connections=x",
            "prepared_statements=no",
        ] {
            let url = format!("postgres://h/d?{parameter}");
            assert!(PostgresOptions::new(&url).is_err(), "{parameter}");
        }
    }
}
