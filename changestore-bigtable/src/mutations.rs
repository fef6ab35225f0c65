//! What a write does to a row: cells set, after everything else in the row is gone.

use bytes::Bytes;
use changestore_core::{ChangeRecord, Etag, MetadataUpdate, NewRecord, Timestamp, Version};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::Mutation;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::mutation::{
    self, DeleteFromRow, SetCell,
};

use crate::layout::{
    self, CLAIM, COUNT, CREATE_TOKEN, CREATED_AT, DATA, ETAG, EXPIRY, Expiry, GUARDED_COUNT,
    Holding, KEY, METADATA, NO_TIME, RECORD, UPDATE_TOKEN, UPDATED_AT, VERSION,
};

/// Removes all that is in a row.
pub(crate) fn clear() -> Mutation {
    Mutation {
        mutation: Some(mutation::Mutation::DeleteFromRow(DeleteFromRow {})),
    }
}

/// Puts a record in the place of all that is in its row. A cell of the row that was left would, with a later
/// time, outlive a record that expires sooner.
pub(crate) fn put(record: &NewRecord, version: Version, etag: &Etag) -> Vec<Mutation> {
    let time = layout::cell_time(record.expire_at());
    let expiry = Expiry::new(Holding::Record, record.expire_at());
    vec![
        clear(),
        set(RECORD, DATA, time, record.data().clone()),
        set(RECORD, VERSION, time, number(version.as_i64())),
        set(RECORD, ETAG, time, text(etag.as_str())),
        set(KEY, EXPIRY, time, number(expiry.number())),
    ]
}

/// Puts a counter in the place of all that is in its row.
pub(crate) fn count(value: i64, is_guarded: bool, expire_at: Option<Timestamp>) -> Vec<Mutation> {
    let time = layout::cell_time(expire_at);
    let (holding, column) = if is_guarded {
        (Holding::GuardedCounter, GUARDED_COUNT)
    } else {
        (Holding::Counter, COUNT)
    };
    let expiry = Expiry::new(holding, expire_at);
    vec![
        clear(),
        set(KEY, EXPIRY, time, number(expiry.number())),
        set(KEY, column, time, number(value)),
    ]
}

/// Writes a claim where none is.
pub(crate) fn create(record: &ChangeRecord, token: &Etag) -> Vec<Mutation> {
    vec![
        claim(METADATA, text(record.metadata.as_str())),
        claim(CREATED_AT, number(record.created_at.as_millis())),
        claim(UPDATED_AT, number(record.updated_at.as_millis())),
        claim(VERSION, number(record.version.as_i64())),
        claim(CREATE_TOKEN, text(token.as_str())),
        // As long as no column is added to a row, who reads it meanwhile sees all of it, also on the emulator.
        claim(UPDATE_TOKEN, text(token.as_str())),
    ]
}

/// Sets what an update of a claim's metadata sets.
pub(crate) fn update(update: &MetadataUpdate, token: &Etag) -> Vec<Mutation> {
    vec![
        claim(METADATA, text(update.metadata.as_str())),
        claim(UPDATED_AT, number(update.updated_at.as_millis())),
        claim(VERSION, number(update.new_version.as_i64())),
        claim(UPDATE_TOKEN, text(token.as_str())),
    ]
}

fn claim(qualifier: &[u8], value: Bytes) -> Mutation {
    set(CLAIM, qualifier, NO_TIME, value)
}

fn set(family: &str, qualifier: &[u8], time: i64, value: Bytes) -> Mutation {
    let cell = SetCell {
        family_name: family.to_owned(),
        column_qualifier: Bytes::copy_from_slice(qualifier),
        timestamp_micros: time,
        value,
    };
    Mutation {
        mutation: Some(mutation::Mutation::SetCell(cell)),
    }
}

fn number(value: i64) -> Bytes {
    Bytes::copy_from_slice(&value.to_be_bytes())
}

fn text(value: &str) -> Bytes {
    Bytes::copy_from_slice(value.as_bytes())
}
