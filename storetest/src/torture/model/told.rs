//! What a call was told, without what two stores may differ in.

use bytes::Bytes;
use changestore_core::{
    ChangeRecord, CreateOutcome, Error, ErrorKind, Etag, Key, Record, Timestamp,
};

/// The answer of a call.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) told: Told,
    /// The etags of the records, which are looked at apart, since each store draws its own.
    pub(super) etags: Vec<Etag>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    Records(Vec<Seen>),
    Counted(i64),
    Claims(Vec<ChangeRecord>),
    Created(CreateOutcome),
    Done,
    Refused(ErrorKind),
}

/// A record without its etag.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    key: Key,
    data: Bytes,
    version: u64,
    expire_at: Option<Timestamp>,
}

impl Answer {
    pub(super) fn records(records: &[Record]) -> Self {
        let seen = records.iter().map(|record| Seen {
            key: record.key.clone(),
            data: record.data.clone(),
            version: record.version.get(),
            expire_at: record.expire_at,
        });
        Self {
            told: Told::Records(seen.collect()),
            etags: records.iter().map(|record| record.etag.clone()).collect(),
        }
    }

    /// The keys of its records, each with its etag.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&Key, &Etag)> {
        let seen = match &self.told {
            Told::Records(seen) => seen.as_slice(),
            _ => &[],
        };
        seen.iter().map(|seen| &seen.key).zip(&self.etags)
    }
}

impl From<Told> for Answer {
    fn from(told: Told) -> Self {
        Self {
            told,
            etags: Vec::new(),
        }
    }
}

impl Told {
    /// The kind of a failure without words, which are each adapter's own.
    pub(super) fn refusal(error: &Error) -> Self {
        Self::Refused(match error.kind() {
            ErrorKind::InvalidArgument { field, .. } => ErrorKind::InvalidArgument {
                field,
                reason: "".into(),
            },
            other => other.clone(),
        })
    }

    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}
