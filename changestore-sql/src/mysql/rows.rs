//! Rows as they come from the server. Keys and etags are bytes to it.

use changestore_core::{Etag, Version};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::flow::rows::{ClaimRow, RecordRow, stored_version};

pub(super) fn claim(row: &MySqlRow) -> Result<ClaimRow, sqlx::Error> {
    Ok(ClaimRow {
        request_id: text(row, 0)?,
        version: row.try_get(1)?,
        created_at: row.try_get(2)?,
        updated_at: row.try_get(3)?,
        metadata: row.try_get(4)?,
    })
}

/// A record's columns, from this one on.
pub(super) fn record(row: &MySqlRow, first: usize) -> Result<RecordRow, sqlx::Error> {
    Ok(RecordRow {
        version: row.try_get(first)?,
        etag: text(row, first + 1)?,
        expire_at: row.try_get(first + 2)?,
        data: row.try_get(first + 3)?,
    })
}

/// A text in a column of bytes.
pub(super) fn text(row: &MySqlRow, column: usize) -> Result<String, sqlx::Error> {
    let bytes: Vec<u8> = row.try_get(column)?;
    String::from_utf8(bytes).map_err(|error| undecodable(column, error.utf8_error()))
}

/// What a row of a document is.
#[derive(Debug)]
pub(super) enum Stored {
    Record(Version, Etag),
    Counter,
    /// Neither, or both.
    Damaged,
}

/// From a version, an etag and a counter. Counters have an etag, too.
pub(super) fn stored(row: &MySqlRow) -> Result<Stored, sqlx::Error> {
    let version: Option<i64> = row.try_get(0)?;
    let etag: Option<Vec<u8>> = row.try_get(1)?;
    let etag = etag.and_then(|etag| String::from_utf8(etag).ok());
    let counter: Option<i64> = row.try_get(2)?;
    Ok(
        match (version.map(stored_version), etag.map(Etag::new), counter) {
            (Some(Ok(version)), Some(Ok(etag)), None) => Stored::Record(version, etag),
            (None, _, Some(_)) => Stored::Counter,
            _ => Stored::Damaged,
        },
    )
}

fn undecodable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_string(),
        source: error.into(),
    }
}
