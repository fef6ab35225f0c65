//! From a row's values to the contract's types. What the types refuse cannot have been written by this
//! library: it is corrupt.

use bytes::Bytes;
use changestore_core::{
    ChangeKey, ChangeRecord, Error, Etag, Key, Metadata, Record, Result, Timestamp, Version,
};

/// A claim's columns as they come from the database.
#[derive(Debug)]
pub(crate) struct ClaimRow {
    pub(crate) request_id: String,
    pub(crate) version: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) metadata: String,
}

impl ClaimRow {
    pub(crate) fn into_record(self, queue: &str, uri: &str) -> Result<ChangeRecord> {
        let corrupt = |column| move |error| corrupt("claim", column, error);
        let key = ChangeKey::new(queue, uri, self.request_id).map_err(corrupt("request_id"))?;
        Ok(ChangeRecord {
            metadata: stored_metadata(self.metadata).map_err(corrupt("metadata"))?,
            created_at: Timestamp::from_millis(self.created_at).map_err(corrupt("created_at"))?,
            updated_at: Timestamp::from_millis(self.updated_at).map_err(corrupt("updated_at"))?,
            version: stored_version(self.version).map_err(corrupt("version"))?,
            key,
        })
    }
}

/// A record's columns as they come from the database.
#[derive(Debug)]
pub(crate) struct RecordRow {
    pub(crate) version: i64,
    pub(crate) etag: String,
    pub(crate) expire_at: Option<i64>,
    pub(crate) data: Vec<u8>,
}

impl RecordRow {
    pub(crate) fn into_record(self, key: Key) -> Result<Record> {
        let corrupt = |column| move |error| corrupt("record", column, error);
        let expire_at = self.expire_at.map(Timestamp::from_millis).transpose();
        Ok(Record {
            version: stored_version(self.version).map_err(corrupt("version"))?,
            etag: Etag::new(self.etag).map_err(corrupt("etag"))?,
            expire_at: expire_at.map_err(corrupt("expire_at"))?,
            data: Bytes::from(self.data),
            key,
        })
    }
}

/// A version that a row has: 0 is that of no row.
pub(crate) fn stored_version(version: i64) -> Result<Version> {
    match Version::try_from(version)? {
        Version::ABSENT => Err(Error::invalid_argument("version", "0 is no row's version")),
        version => Ok(version),
    }
}

/// Metadata that a row has: none has the empty text, which only callers may give.
fn stored_metadata(text: String) -> Result<Metadata> {
    if text.is_empty() {
        return Err(Error::invalid_argument("metadata", "they are empty"));
    }
    Metadata::new(text)
}

/// A stored sort key.
pub(crate) fn stored_key(pk: &str, sk: String) -> Result<Key> {
    Key::new(pk, sk).map_err(|error| corrupt("record", "sk", error))
}

fn corrupt(what: &str, column: &str, error: Error) -> Error {
    Error::corrupt(format!("a {what} has an impossible {column}")).with_source(error)
}
