//! From sqlx's errors to the workspace's.

use changestore_core::Error;

use crate::flow::classify::Cause;
use crate::sqlite::codes::SQLITE;

/// The error of a statement that failed.
pub(super) fn failed(error: sqlx::Error) -> Error {
    Cause::new(error, &SQLITE).to_error()
}

/// Whether the database lacks a table or column that the statement names.
pub(super) fn is_schema(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.as_deref() == Some("1")
}
