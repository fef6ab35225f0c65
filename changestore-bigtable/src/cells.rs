//! From stored cells to what the contracts call them.

use bytes::Bytes;
use changestore_core::{
    ChangeKey, ChangeRecord, Error, Etag, Key, Metadata, Record, Result, Timestamp, Version,
};

use crate::layout::{
    self, CLAIM, COUNT, CREATED_AT, DATA, ETAG, EXPIRY, Expiry, GUARDED_COUNT, Holding, KEY,
    METADATA, RECORD, UPDATED_AT, VERSION,
};
use crate::merge::{Cell, Row};

/// What lives at a document's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing, or something that has expired.
    Absent,
    Record {
        version: Version,
        etag: Etag,
    },
    Counter(Counter),
}

/// A counter as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) value: i64,
    /// Whether it is counted under a condition only.
    pub(crate) is_guarded: bool,
    pub(crate) expiry: Expiry,
}

impl Standing {
    /// What a row is at that time.
    pub(crate) fn of(row: Option<&Row>, now: Timestamp) -> Result<Self> {
        let Some(row) = row else {
            return Ok(Self::Absent);
        };
        let expiry = match find(row, KEY, EXPIRY) {
            Some(expiry) => integer(expiry, EXPIRY)?,
            None => 0,
        };
        let expiry = Expiry::from_stored(expiry);
        Ok(match expiry.holding(now) {
            None => {
                let record = find(row, RECORD, VERSION);
                if record.is_some_and(|cell| cell.time >= layout::first_live_time(now)) {
                    // A record that reads find, and of which its key says nothing.
                    return Err(wrong(EXPIRY));
                }
                Self::Absent
            }
            Some(Holding::Record) => Self::Record {
                version: version(row, RECORD)?,
                etag: etag(row)?,
            },
            Some(Holding::Counter) => Self::Counter(Counter {
                value: number(row, KEY, COUNT)?,
                is_guarded: false,
                expiry,
            }),
            Some(Holding::GuardedCounter) => Self::Counter(Counter {
                value: number(row, KEY, GUARDED_COUNT)?,
                is_guarded: true,
                expiry,
            }),
        })
    }
}

/// The record of a row's cells, which the filter has let through as live at that time; none if they are dead by now.
pub(crate) fn record(key: Key, row: &Row, now: Timestamp) -> Result<Option<Record>> {
    let cell = find(row, RECORD, VERSION).ok_or_else(|| wrong(VERSION))?;
    if cell.time < layout::first_live_time(now) {
        return Ok(None);
    }
    Ok(Some(Record {
        key,
        version: version(row, RECORD)?,
        etag: etag(row)?,
        expire_at: layout::expire_at(cell.time).map_err(|_| wrong(VERSION))?,
        data: value(row, RECORD, DATA)?,
    }))
}

/// The claim of a row of this queue and uri.
pub(crate) fn claim(queue: &str, uri: &str, request_id: &[u8], row: &Row) -> Result<ChangeRecord> {
    let wrong_key = || Error::corrupt("a stored row key is not ours");
    let request_id = std::str::from_utf8(request_id).map_err(|_| wrong_key())?;
    let metadata = String::from_utf8(value(row, CLAIM, METADATA)?.into());
    let metadata = metadata.map_err(|_| wrong(METADATA))?;
    if metadata.is_empty() {
        // Given, it would mean `{}`; nobody stores it.
        return Err(wrong(METADATA));
    }
    Ok(ChangeRecord {
        key: ChangeKey::new(queue, uri, request_id).map_err(|_| wrong_key())?,
        metadata: Metadata::new(metadata).map_err(|_| wrong(METADATA))?,
        created_at: time(row, CREATED_AT)?,
        updated_at: time(row, UPDATED_AT)?,
        version: version(row, CLAIM)?,
    })
}

/// A claim's version.
pub(crate) fn claim_version(row: &Row) -> Result<Version> {
    version(row, CLAIM)
}

/// Whether the claim was last written, or made, by the write of this token.
pub(crate) fn is_written_by(row: &Row, token_column: &[u8], token: &Etag) -> bool {
    find(row, CLAIM, token_column).is_some_and(|cell| cell.value == token.as_str().as_bytes())
}

fn version(row: &Row, family: &'static str) -> Result<Version> {
    let version = Version::try_from(number(row, family, VERSION)?).ok();
    version
        .filter(|version| *version >= Version::FIRST)
        .ok_or_else(|| wrong(VERSION))
}

fn etag(row: &Row) -> Result<Etag> {
    let etag = value(row, RECORD, ETAG)?;
    let etag = std::str::from_utf8(&etag).map_err(|_| wrong(ETAG))?;
    Etag::new(etag).map_err(|_| wrong(ETAG))
}

fn time(row: &Row, qualifier: &'static [u8]) -> Result<Timestamp> {
    Timestamp::from_millis(number(row, CLAIM, qualifier)?).map_err(|_| wrong(qualifier))
}

fn number(row: &Row, family: &str, qualifier: &'static [u8]) -> Result<i64> {
    let cell = find(row, family, qualifier).ok_or_else(|| wrong(qualifier))?;
    integer(cell, qualifier)
}

fn integer(cell: &Cell, qualifier: &'static [u8]) -> Result<i64> {
    integer_of(&cell.value).ok_or_else(|| wrong(qualifier))
}

/// A number as the server counts: 8 bytes, big end first.
pub(crate) fn integer_of(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

fn value(row: &Row, family: &str, qualifier: &'static [u8]) -> Result<Bytes> {
    let cell = find(row, family, qualifier).ok_or_else(|| wrong(qualifier))?;
    Ok(cell.value.clone())
}

/// A column's latest cell; cells come latest first.
fn find<'a>(row: &'a Row, family: &str, qualifier: &[u8]) -> Option<&'a Cell> {
    row.cells
        .iter()
        .find(|cell| &*cell.family == family && cell.qualifier == qualifier)
}

pub(crate) fn wrong(qualifier: &[u8]) -> Error {
    let qualifier = String::from_utf8_lossy(qualifier).into_owned();
    Error::corrupt(format!("the column {qualifier} is missing or is not ours"))
}
