//! What SQLite's result codes mean.

use changestore_core::{Error, ErrorKind};
use sqlx::error::DatabaseError;

use crate::flow::classify::{Dialect, Driver, Meaning};

/// SQLite.
pub(crate) const SQLITE: Dialect = Dialect {
    backend: "sqlite",
    meaning,
};

const ERROR: i32 = 1;
const PERM: i32 = 3;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const NOMEM: i32 = 7;
const READONLY: i32 = 8;
const INTERRUPT: i32 = 9;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const PROTOCOL: i32 = 15;
const SCHEMA: i32 = 17;
const TOOBIG: i32 = 18;
const AUTH: i32 = 23;
const NOTADB: i32 = 26;

/// The result code without its extension, or none if SQLite did not speak.
fn primary(error: &dyn DatabaseError) -> Option<i32> {
    let extended: i32 = error.code()?.parse().ok()?;
    Some(extended & 0xff)
}

fn meaning(error: &dyn DatabaseError) -> Meaning {
    let Some(code) = primary(error) else {
        return Meaning::plain(ErrorKind::Other);
    };
    match code {
        BUSY | LOCKED | PROTOCOL => Meaning::new(
            ErrorKind::Unavailable,
            "another connection holds the lock of the database",
        ),
        SCHEMA | INTERRUPT => Meaning::plain(ErrorKind::Unavailable),
        IOERR => Meaning::new(ErrorKind::Unavailable, "the file cannot be read or written"),
        FULL => Meaning::new(ErrorKind::Unavailable, "the disk is full"),
        NOMEM => Meaning::new(ErrorKind::Unavailable, "out of memory"),
        READONLY => Meaning::new(
            ErrorKind::PermissionDenied,
            "the database, or the folder that it lies in, cannot be written",
        ),
        PERM | AUTH => Meaning::plain(ErrorKind::PermissionDenied),
        TOOBIG => Meaning::new(ErrorKind::Other, "longer than a value of SQLite's may be"),
        CORRUPT => Meaning::new(ErrorKind::Corrupt, "the database file is damaged"),
        NOTADB => Meaning::new(ErrorKind::Corrupt, "the file is not an SQLite database"),
        CANTOPEN => Meaning::new(
            ErrorKind::Configuration,
            "the database file cannot be opened; does its folder exist, and may it be read?",
        ),
        // Such as a missing table or column.
        ERROR => Meaning::new(
            ErrorKind::Configuration,
            "the statement does not fit the database's schema",
        ),
        _ => Meaning::plain(ErrorKind::Other),
    }
}

/// Whether another connection is in the way, and trying again later is all that it takes.
pub(crate) fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(primary);
    matches!(code, Some(BUSY | LOCKED | PROTOCOL))
}

/// Whether SQLite was kept from opening or writing a file, and cannot say by what.
pub(super) fn is_about_access(error: &Error) -> bool {
    let driver = Driver::of(error).and_then(sqlx::Error::as_database_error);
    matches!(driver.and_then(primary), Some(CANTOPEN | READONLY))
}

/// Whether a value would have been longer than SQLite's may be, as a rule a billion bytes.
pub(crate) fn is_too_big(error: &Error) -> bool {
    let driver = Driver::of(error).and_then(sqlx::Error::as_database_error);
    driver.and_then(primary) == Some(TOOBIG)
}

/// Whether the connection itself may be at fault, and a new one is the better bet.
pub(super) fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => matches!(
            primary(error.as_ref()),
            Some(IOERR | CORRUPT | NOTADB | CANTOPEN | NOMEM)
        ),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => false,
        _ => true,
    }
}

/// `ROLLBACK` where SQLite has rolled back already.
pub(super) fn is_no_transaction(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(primary);
    code == Some(ERROR)
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;
    use crate::flow::classify::Cause;

    #[tokio::test]
    async fn a_value_that_is_too_big_is_known() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        for (sql, expected) in [
            ("SELECT zeroblob(2000000000)", true),
            ("SELECT * FROM nothing", false),
        ] {
            let query = sqlx::query(sql).fetch_one(&mut connection).await;
            let error = Cause::new(query.unwrap_err(), &SQLITE).to_error();
            assert_eq!(is_too_big(&error), expected, "{error}");
        }
    }
}
