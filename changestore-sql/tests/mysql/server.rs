//! Servers, and what a test has on one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use changestore_sql::{MySqlOptions, MySqlStore};
use engines::Server;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};

/// The server of all tests that change nothing of it, as it comes.
pub(crate) fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| engines::mariadb::start().unwrap())
}

/// A prefix that no other test has.
pub(crate) fn prefix() -> String {
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    format!("t{}_", TESTS.fetch_add(1, Ordering::Relaxed))
}

/// Options with tables of their own.
pub(crate) fn options(server: &Server) -> MySqlOptions {
    with_prefix(&server.url(), &prefix())
}

pub(crate) fn with_prefix(url: &str, prefix: &str) -> MySqlOptions {
    let options = MySqlOptions::new(url).unwrap();
    options.with_table_prefix(prefix).unwrap()
}

/// A store as these options say, with the schema.
pub(crate) async fn open(options: MySqlOptions) -> MySqlStore {
    MySqlStore::migrate_with(options.clone()).await.unwrap();
    MySqlStore::open_with(options).await.unwrap()
}

/// Another way into the server.
pub(crate) async fn direct(server: &Server) -> MySqlConnection {
    MySqlConnection::connect(&server.url()).await.unwrap()
}

/// Runs statements on a connection of their own.
pub(crate) async fn run(server: &Server, sql: &str) {
    let mut connection = direct(server).await;
    execute(&mut connection, sql).await;
}

pub(crate) async fn execute(connection: &mut MySqlConnection, sql: &str) {
    let sql = AssertSqlSafe(sql.to_owned());
    raw_sql(sql).execute(connection).await.unwrap();
}
