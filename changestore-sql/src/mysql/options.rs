//! How a store on MySQL or MariaDB is opened.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Clock, Error, ErrorKind, Operation, Result};
use sqlx::ConnectOptions as _;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool};

use super::codes::MYSQL;
use super::tables::Tables;
use crate::server::Settings;

/// How to open a store: which server, and the rest with a default.
///
/// ```
/// use changestore_sql::MySqlOptions;
/// use std::time::Duration;
///
/// let options = MySqlOptions::new("mysql://queue:secret@db.example/queue?ssl-mode=REQUIRED")?
///     .with_table_prefix("landing_")?
///     .with_operation_timeout(Duration::from_secs(10));
/// assert!(!format!("{options:?}").contains("secret"));
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Clone)]
pub struct MySqlOptions {
    pub(super) origin: Origin,
    pub(super) tables: Tables,
    pub(super) settings: Settings,
}

/// Where the connections come from.
#[derive(Clone)]
pub(super) enum Origin {
    Server(Box<MySqlConnectOptions>),
    Pool(MySqlPool),
}

/// What a URL may say beside user, password, host, port and database. The rest of what sqlx knows is set
/// for each connection, whatever the URL says.
const PARAMETERS: [&str; 6] = [
    "ssl-mode",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "socket",
    "statement-cache-capacity",
];

impl MySqlOptions {
    /// A URL: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`, or `mariadb://…`, percent-encoded. Parameters are those of
    /// sqlx: `ssl-mode` (`DISABLED`, `PREFERRED`, `REQUIRED`, `VERIFY_CA`, `VERIFY_IDENTITY`), `ssl-ca`,
    /// `ssl-cert`, `ssl-key`, `socket`, `statement-cache-capacity`.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) for another scheme, a URL without a database, an
    /// unknown parameter, and what else cannot be read; nothing of the URL but a parameter's name is repeated.
    pub fn new(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        if !["mysql", "mariadb"].contains(&scheme) {
            return Err(refuse(
                "the URL begins with neither mysql:// nor mariadb://",
            ));
        }
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let name = parameter
                .split_once('=')
                .map_or(parameter, |(name, _)| name);
            if !PARAMETERS.contains(&name) {
                return Err(refuse(format!(
                    "the URL has a parameter {name:?}; there are {}",
                    PARAMETERS.join(", ")
                )));
            }
        }
        // The reasons of the parsers name a part of the URL and do not repeat it.
        let options: MySqlConnectOptions = format!("mysql://{rest}")
            .parse()
            .map_err(|error: sqlx::Error| refuse("the URL cannot be read").with_source(error))?;
        if options.get_database().is_none_or(str::is_empty) {
            return Err(refuse("the URL names no database"));
        }
        Ok(Self::from(Origin::Server(Box::new(
            options
                // What these would set, each connection is set to in one statement.
                .pipes_as_concat(false)
                .no_engine_substitution(false)
                .timezone(None)
                .set_names(false)
                // The statements are the library's, and looking at each costs time.
                .disable_statement_logging(),
        ))))
    }

    /// The connections of the user's own pool.
    ///
    /// A store that is opened on a pool applies no migration: see [`MySqlStore::migrate`](crate::MySqlStore::migrate).
    /// It borrows connections as long as it has work for them, at most as many as
    /// [`with_connections`](Self::with_connections) says. Each is set up as the store needs it; so that nobody else meets
    /// such settings, it is closed and not given back, when it has been idle for a second. Turn `test_before_acquire` off.
    #[must_use]
    pub fn from_pool(pool: MySqlPool) -> Self {
        Self::from(Origin::Pool(pool))
    }

    fn from(origin: Origin) -> Self {
        Self {
            origin,
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

    /// At most so many connections at a time, at least 1 whatever is said.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.settings.connections = connections;
        self
    }

    /// How long an operation may take in all, waiting for a connection and for others' locks included;
    /// 30 seconds by default. A write that has been sent by then is
    /// [unknown](changestore_core::Outcome::Unknown).
    #[must_use]
    pub fn with_operation_timeout(mut self, operation_timeout: Duration) -> Self {
        self.settings.operation_timeout = operation_timeout;
        self
    }

    /// How long an operation waits for a server that cannot be reached; 5 seconds by default.
    #[must_use]
    pub fn with_connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.settings.connect_timeout = connect_timeout;
        self
    }

    /// What the names of the tables begin with; `changestore_` by default. Stores with different prefixes share
    /// a database and nothing in it.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) unless it is at most 32 small letters, digits and underscores,
    /// of which a digit is not the first.
    pub fn with_table_prefix(mut self, prefix: &str) -> Result<Self> {
        self.tables = Tables::new(prefix)?;
        Ok(self)
    }
}

/// Without user and password.
impl fmt::Debug for MySqlOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("MySqlOptions");
        match &self.origin {
            Origin::Server(server) => options
                .field("host", &server.get_host())
                .field("port", &server.get_port())
                .field("database", &server.get_database()),
            Origin::Pool(_) => options.field("pool", &format_args!("the user's")),
        };
        options
            .field("tables", &self.tables)
            .field("settings", &self.settings)
            .finish()
    }
}

/// Options that cannot be used.
fn refuse(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Configuration)
        .with_backend(MYSQL.backend)
        .with_operation(Operation::Open)
        .with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let error = MySqlOptions::new(url).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Configuration);
        let printed = format!("{error} {error:?}");
        assert!(!printed.contains("s3cret"), "{printed}");
        printed
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_without_the_url() {
        assert!(refused("postgres://u:s3cret@h/db").contains("neither"));
        assert!(refused("u:s3cret@h/db").contains("neither"));
        assert!(refused("mysql://u:s3cret@h").contains("no database"));
        assert!(refused("mysql://u:s3cret@h/").contains("no database"));
        assert!(refused("mysql://u:s3cret@h/db?charset=latin1").contains("\"charset\""));
        assert!(refused("mysql://u:s3cret@h:port/db").contains("cannot be read"));
        assert!(refused("mysql://u:s3cret@h/db?ssl-mode=MAYBE").contains("cannot be read"));
    }

    #[test]
    fn neither_options_nor_their_debug_print_the_password() {
        let options =
            MySqlOptions::new("mariadb://us3r:s3cret@h:3307/db?socket=%2Ftmp%2Fs").unwrap();
        let printed = format!("{options:?}");
        assert!(
            !printed.contains("s3cret") && !printed.contains("us3r"),
            "{printed}"
        );
        assert!(
            printed.contains("3307") && printed.contains("db"),
            "{printed}"
        );
    }
}
