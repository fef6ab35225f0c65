//! From stored items to what the contracts call them.

use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use changestore_core::{
    ChangeKey, ChangeRecord, Error, Etag, Key, Metadata, Record, Result, Timestamp, Version,
};

use crate::layout::{
    CREATED_AT, DATA, ETAG, EXPIRE_AT, Item, METADATA, SK, UPDATED_AT, VALUE, VERSION,
    request_id_of,
};

/// What lives at a document's key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing, or something that has expired.
    Absent,
    Record {
        version: Version,
        etag: Etag,
    },
    Counter(i64),
}

impl Standing {
    /// What an item is at that time.
    pub(crate) fn of(item: Option<&Item>, now: Timestamp) -> Result<Self> {
        let Some(item) = item else {
            return Ok(Self::Absent);
        };
        if expire_at(item)?.is_some_and(|expire_at| expire_at.is_expired_at(now)) {
            return Ok(Self::Absent);
        }
        if item.contains_key(VALUE) {
            return Ok(Self::Counter(number(item, VALUE)?));
        }
        Ok(Self::Record {
            version: version(item)?,
            etag: etag(item)?,
        })
    }
}

/// A live record; none if the item is expired, or a counter.
pub(crate) fn live_record(key: Key, item: Item, now: Timestamp) -> Result<Option<Record>> {
    let has_expired = expire_at(&item)?.is_some_and(|expire_at| expire_at.is_expired_at(now));
    if has_expired {
        return Ok(None);
    }
    if item.contains_key(VALUE) {
        return number(&item, VALUE).map(|_counter| None);
    }
    record(key, item).map(Some)
}

/// The record of an item that is known to be one, and live.
pub(crate) fn record(key: Key, mut item: Item) -> Result<Record> {
    Ok(Record {
        key,
        version: version(&item)?,
        etag: etag(&item)?,
        expire_at: expire_at(&item)?,
        data: take_data(&mut item)?,
    })
}

/// The claim of an item of this queue and uri.
pub(crate) fn claim(queue: &str, uri: &str, mut item: Item) -> Result<ChangeRecord> {
    let sort_key = text(&item, SK)?;
    let request_id = request_id_of(sort_key).ok_or_else(|| wrong(SK))?;
    let key = ChangeKey::new(queue, uri, request_id).map_err(|_| wrong(SK))?;
    let created_at = time(&item, CREATED_AT)?;
    let updated_at = time(&item, UPDATED_AT)?;
    let version = version(&item)?;
    let metadata = match item.remove(METADATA) {
        // Only callers may give the empty text; `{}` is stored for it.
        Some(AttributeValue::S(metadata)) if !metadata.is_empty() => metadata,
        _ => return Err(wrong(METADATA)),
    };
    Ok(ChangeRecord {
        key,
        metadata: Metadata::new(metadata).map_err(|_| wrong(METADATA))?,
        created_at,
        updated_at,
        version,
    })
}

/// Whether the item was last written, or made, by the write of this token.
pub(crate) fn is_written_by(item: &Item, token_name: &str, token: &Etag) -> bool {
    matches!(item.get(token_name), Some(AttributeValue::S(stored)) if stored == token.as_str())
}

pub(crate) fn version(item: &Item) -> Result<Version> {
    match Version::try_from(number(item, VERSION)?) {
        // 0 is no item's version.
        Ok(Version::ABSENT) | Err(_) => Err(wrong(VERSION)),
        Ok(version) => Ok(version),
    }
}

pub(crate) fn number(item: &Item, name: &'static str) -> Result<i64> {
    match item.get(name) {
        Some(AttributeValue::N(number)) => number.parse().map_err(|_| wrong(name)),
        _ => Err(wrong(name)),
    }
}

pub(crate) fn sort_key(item: &Item) -> Result<&str> {
    text(item, SK)
}

fn etag(item: &Item) -> Result<Etag> {
    Etag::new(text(item, ETAG)?).map_err(|_| wrong(ETAG))
}

fn expire_at(item: &Item) -> Result<Option<Timestamp>> {
    if item.contains_key(EXPIRE_AT) {
        time(item, EXPIRE_AT).map(Some)
    } else {
        Ok(None)
    }
}

fn time(item: &Item, name: &'static str) -> Result<Timestamp> {
    Timestamp::from_millis(number(item, name)?).map_err(|_| wrong(name))
}

fn text<'a>(item: &'a Item, name: &'static str) -> Result<&'a str> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Ok(text),
        _ => Err(wrong(name)),
    }
}

fn take_data(item: &mut Item) -> Result<Bytes> {
    match item.remove(DATA) {
        Some(AttributeValue::B(data)) => Ok(data.into_inner().into()),
        // Not every server takes an empty value; none is stored for it.
        None => Ok(Bytes::new()),
        Some(_) => Err(wrong(DATA)),
    }
}

fn wrong(name: &'static str) -> Error {
    Error::corrupt(format!("the attribute {name} is missing or is not ours"))
}
