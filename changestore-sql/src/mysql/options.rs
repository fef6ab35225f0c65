//! How a store on MySQL or MariaDB is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Clock, Result};
use sqlx::mysql::{MySql, MySqlConnectOptions, MySqlPool};
use sqlx::{ConnectOptions as _, Pool};

use super::tables::Tables;
use super::url::{Location, refuse};
use crate::server::{Settings, Source};

/// How to open a store: which database, and the rest with a default.
///
/// `Debug` prints neither the password nor the rest of the URL but host, port, user and database.
///
/// ```
/// use changestore_sql::MySqlOptions;
/// use std::time::Duration;
///
/// let options = MySqlOptions::new("mysql://queue@db.example.com/queue?ssl-mode=VERIFY_CA")?
///     .with_table_prefix("landing_")?
///     .with_operation_timeout(Duration::from_secs(10));
/// # let _ = options;
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Clone)]
pub struct MySqlOptions {
    database: Database,
    pub(super) tables: Tables,
    pub(super) settings: Settings,
}

#[derive(Clone)]
enum Database {
    At(Box<MySqlConnectOptions>),
    Of(MySqlPool),
}

impl MySqlOptions {
    /// The database at a URL: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, or `mariadb://…`.
    ///
    /// Parameters are the driver's `ssl-mode` (`DISABLED`, `PREFERRED`, `REQUIRED`, `VERIFY_CA`,
    /// `VERIFY_IDENTITY`), `ssl-ca`, `ssl-cert`, `ssl-key`, `socket` and `statement-cache-capacity`, and
    /// `table_prefix` and `connections`, which are the methods of the same names.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for another scheme, a URL without a
    /// database, an unknown parameter or a value that is none; it does not repeat the URL.
    pub fn new(url: &str) -> Result<Self> {
        let Location {
            connect,
            parameters,
        } = Location::parse(url)?;
        let connect = connect
            // What these would set, each connection is set to by the session's own script.
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .set_names(false)
            // Statements are not logged: their texts are the library's, and looking costs time.
            .disable_statement_logging();
        let mut options = Self::with_database(Database::At(Box::new(connect)));
        for (name, value) in parameters {
            options = match name {
                "table_prefix" => options.with_table_prefix(&value)?,
                _ => match value.parse() {
                    Ok(connections) => options.with_connections(connections),
                    Err(_) => return Err(refuse("connections is no number")),
                },
            };
        }
        Ok(options)
    }

    /// The user's own pool. Connections are taken from it while there is work, at most as many as the pool may
    /// have.
    ///
    /// Each is set up as the store needs it, whatever the pool has set. So that nobody else meets those
    /// settings it does not go back: it is closed when it has been idle for a second, and the pool opens another
    /// when it needs one.
    #[must_use]
    pub fn from_pool(pool: MySqlPool) -> Self {
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
            settings: Settings::default(),
        }
    }

    /// The clock that decides what has expired; the system's by default.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// What the tables' names begin with; `changestore_` by default. Stores with different prefixes share a
    /// database and nothing in it.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for what is not 1 to 32 lower-case
    /// letters, digits and underscores, or begins with a digit.
    pub fn with_table_prefix(mut self, prefix: &str) -> Result<Self> {
        self.tables = Tables::new(prefix)?;
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

    pub(super) fn source(&self) -> Source<MySql> {
        match &self.database {
            Database::At(connect) => Source::Own(connect.clone()),
            Database::Of(pool) => Source::Pool(Pool::clone(pool)),
        }
    }
}

impl fmt::Debug for MySqlOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = f.debug_struct("MySqlOptions");
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
            .field("settings", &self.settings)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_password() {
        let url = "mysql://u:s3cret@h/d?table_prefix=q_&connections=0";
        let options = MySqlOptions::new(url).unwrap();
        let printed = format!("{options:?}");
        assert!(!printed.contains("s3cret"), "{printed}");
        assert!(printed.contains(r#"host: "h""#), "{printed}");
        assert_eq!(options.settings.connections, 1);
        assert_eq!(options.tables.claims(), "q_claims");
    }

    #[test]
    fn values_that_are_none_are_refused() {
        for parameter in ["table_prefix=A", "table_prefix=", "connections=x"] {
            let url = format!("mysql://h/d?{parameter}");
            assert!(MySqlOptions::new(&url).is_err(), "{parameter}");
        }
    }
}
