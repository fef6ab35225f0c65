//! What a call was told, without what two stores may differ in.

use std::collections::HashMap;

use bytes::Bytes;
use changestore_core::{
    ChangeRecord, CreateOutcome, Error, ErrorKind, Etag, Key, Outcome, Record, Result, Timestamp,
};

/// The answer of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    Records(Vec<Seen>),
    Counted(i64),
    Claims(Vec<ChangeRecord>),
    Created(CreateOutcome),
    Done,
    Failed(ErrorKind, Outcome),
}

/// A record; its etag is looked at apart, since each store draws its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    key: Key,
    data: Bytes,
    version: u64,
    expire_at: Option<Timestamp>,
}

impl Told {
    pub(super) fn new<T>(result: &Result<T>, told: impl FnOnce(&T) -> Self) -> Self {
        match result {
            Ok(value) => told(value),
            Err(error) => Self::Failed(kind(error), error.outcome()),
        }
    }

    pub(super) fn records(records: &[Record]) -> Self {
        let seen = records.iter().map(|record| Seen {
            key: record.key.clone(),
            data: record.data.clone(),
            version: record.version.get(),
            expire_at: record.expire_at,
        });
        Self::Records(seen.collect())
    }
}

/// The kind without words, which are each adapter's own.
fn kind(error: &Error) -> ErrorKind {
    match error.kind() {
        ErrorKind::InvalidArgument { field, .. } => ErrorKind::InvalidArgument {
            field,
            reason: "".into(),
        },
        other => other.clone(),
    }
}

/// Which etag of the store's is which of the model's: one for one.
#[derive(Debug, Default)]
pub(super) struct Etags {
    of_store: HashMap<Etag, Etag>,
    of_model: HashMap<Etag, Etag>,
}

impl Etags {
    /// Takes a pair; false if one of them has been paired otherwise.
    pub(super) fn pair(&mut self, store: &Etag, model: &Etag) -> bool {
        let paired = self
            .of_store
            .entry(store.clone())
            .or_insert_with(|| model.clone());
        let back = self
            .of_model
            .entry(model.clone())
            .or_insert_with(|| store.clone());
        paired == model && back == store
    }
}
