//! What a connection is made before it is used, whatever the server, the account or a pool has set.
//!
//! Each setting is here because a statement would fail, or do something else, without it.

use changestore_core::{Error, ErrorKind, Result};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _, query, raw_sql};

use super::migrate::failed;

/// How many seconds a statement waits for the lock of a row. Then it is rolled back and sent again, with a new
/// idea of the time.
const LOCK_WAIT: u32 = 2;

/// How many seconds the server keeps a connection that is idle; longer than the store does.
const WAIT_TIMEOUT: u32 = 3600;

/// Sets up a connection, in one round trip.
///
/// - A transaction that somebody left open would swallow every write. It is rolled back, and `autocommit`
///   is on. (`completion_type` could make of that a new transaction, or the end of the connection.)
/// - At READ COMMITTED a statement sees what was committed before it began and locks no gaps, in which
///   others would deadlock.
/// - `sql_mode` is `STRICT_ALL_TABLES` and nothing else: what does not fit is refused and not cut; and other
///   modes would assign all columns at once, take the empty string for NULL, or unsigned for signed numbers.
/// - The texts are UTF-8, whatever the account's character set.
/// - `sql_select_limit` would silently leave out rows; `sql_big_selects` and `sql_safe_updates` refuse some.
pub(super) async fn prepare(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    let script = format!(
        "ROLLBACK AND NO CHAIN NO RELEASE;\n\
         SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;\n\
         SET SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION autocommit = 1, \
         SESSION time_zone = '+00:00', SESSION sql_select_limit = 18446744073709551615, \
         SESSION sql_big_selects = 1, SESSION sql_safe_updates = 0, \
         SESSION innodb_lock_wait_timeout = {LOCK_WAIT}, SESSION wait_timeout = {WAIT_TIMEOUT}, \
         NAMES utf8mb4"
    );
    raw_sql(AssertSqlSafe(script)).execute(connection).await?;
    Ok(())
}

/// The largest value with the longest key, and what a batch of creates has on top of it.
const SMALLEST_PACKET: u64 = 2 << 20;

const SERVER: &str = "SELECT CAST(@@max_allowed_packet AS UNSIGNED), DATABASE() IS NOT NULL";

/// Refuses a server that cannot be used, before anything was written.
pub(super) async fn check(connection: &mut MySqlConnection) -> Result<()> {
    let server = query(SERVER).fetch_one(connection).await.map_err(failed)?;
    let packet: u64 = server.try_get(0).map_err(failed)?;
    if packet < SMALLEST_PACKET {
        return Err(unusable(format!(
            "the server's max_allowed_packet is {packet} bytes; the largest values need {SMALLEST_PACKET}"
        )));
    }
    if server.try_get(1).map_err(failed)? {
        return Ok(());
    }
    Err(unusable(
        "the pool's connections are in no database".to_owned(),
    ))
}

fn unusable(message: String) -> Error {
    Error::new(ErrorKind::Configuration).with_message(message)
}
