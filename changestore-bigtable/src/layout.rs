//! Where things stand in the table: row keys, families, columns, and what a cell's time means.
//!
//! One table for both contracts. A row key leads with the queue or pk, then says which contract's it is:
//!
//! | | row key |
//! |---|---|
//! | claim | queue, NUL, `c`, uri, NUL, request id |
//! | record or counter | pk, NUL, `d`, sk |
//!
//! No part of a key holds a NUL, and nothing sorts before it: no two keys are joined alike, the claims of a
//! uri stand together in the order of their request ids, and the documents of a pk in the order of their sks.
//!
//! The time of a record's cells is when it expires, in microseconds; so what is live is a range of times, which the
//! server filters by, and what has been dead for a day is what its garbage collection finds older than that.

use changestore_core::{ChangeKey, Key, Result, Timestamp};

/// The family of claims; its cells have no time of their own.
pub(crate) const CLAIM: &str = "c";
/// The family of a record's cells.
pub(crate) const RECORD: &str = "r";
/// The family of what a document's key holds, record or counter, and until when; and of a counter's value.
pub(crate) const KEY: &str = "k";

/// Of claims and records: the version, 8 bytes, big end first. No claim and no record is without.
pub(crate) const VERSION: &[u8] = b"version";

/// A claim's metadata, as text.
pub(crate) const METADATA: &[u8] = b"metadata";
pub(crate) const CREATED_AT: &[u8] = b"created_at";
pub(crate) const UPDATED_AT: &[u8] = b"updated_at";
/// The write that made a claim; it stays.
pub(crate) const CREATE_TOKEN: &[u8] = b"create_token";
/// The write that set a claim's metadata last.
pub(crate) const UPDATE_TOKEN: &[u8] = b"update_token";

/// A record's bytes.
pub(crate) const DATA: &[u8] = b"data";
/// A record's etag: its version, and the write that stored it.
pub(crate) const ETAG: &[u8] = b"etag";

/// What is at a key and until when ([`Expiry`]).
pub(crate) const EXPIRY: &[u8] = b"expiry";
/// A counter's value, counted up in place by whoever likes ([`Holding::Counter`]).
pub(crate) const COUNT: &[u8] = b"count";
/// A counter's value, replaced under a condition only ([`Holding::GuardedCounter`]).
pub(crate) const GUARDED_COUNT: &[u8] = b"guarded_count";

/// The columns that say what is at a document's key, for a filter; all but the data.
pub(crate) const STANDING: &str = "version|etag|expiry|count|guarded_count";

const SEPARATOR: u8 = 0;
const CLAIMS: u8 = b'c';
const DOCUMENTS: u8 = b'd';

/// A millisecond after the latest time that anything expires at: the time of what does not.
const NEVER_MILLIS: i64 = Timestamp::MAX.as_millis() + 1;
/// A cell's time is in microseconds, and the table's are whole milliseconds.
const MICROS: i64 = 1_000;

/// The time of a claim's cells: always the same, so that a cell is replaced.
pub(crate) const NO_TIME: i64 = 0;

fn millis(expire_at: Option<Timestamp>) -> i64 {
    expire_at.map_or(NEVER_MILLIS, Timestamp::as_millis)
}

/// The time of the cells of something that expires then.
pub(crate) fn cell_time(expire_at: Option<Timestamp>) -> i64 {
    millis(expire_at) * MICROS
}

/// The earliest time of a cell that is live now.
pub(crate) fn first_live_time(now: Timestamp) -> i64 {
    (now.as_millis() + 1) * MICROS
}

/// When something expires that has cells of this time; none if it never does.
pub(crate) fn expire_at(cell_time: i64) -> Result<Option<Timestamp>> {
    match cell_time / MICROS {
        NEVER_MILLIS => Ok(None),
        millis => Timestamp::from_millis(millis).map(Some),
    }
}

/// What is at a document's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holding {
    Record,
    /// A counter far from the ends of the range, for ever.
    Counter,
    /// A counter that one addition might take out of the range, or that expires.
    GuardedCounter,
}

/// What is at a document's key and until when, as one number that grows with the time: four times the
/// milliseconds, plus the holding. 0, which an addition to nothing leaves, is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expiry(i64);

impl Expiry {
    pub(crate) fn new(holding: Holding, expire_at: Option<Timestamp>) -> Self {
        let holding = match holding {
            Holding::Record => 1,
            Holding::Counter => 2,
            Holding::GuardedCounter => 3,
        };
        Self(millis(expire_at) * 4 + holding)
    }

    /// The least that is live now, of whatever holding.
    pub(crate) fn first_live(now: Timestamp) -> Self {
        Self((now.as_millis() + 1) * 4)
    }

    pub(crate) fn from_stored(number: i64) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> i64 {
        self.0
    }

    /// What is at the key; none if nothing is, or if it has expired.
    pub(crate) fn holding(self, now: Timestamp) -> Option<Holding> {
        if self.0 < Self::first_live(now).0 {
            return None;
        }
        match self.0 % 4 {
            1 => Some(Holding::Record),
            2 => Some(Holding::Counter),
            3 => Some(Holding::GuardedCounter),
            _ => None,
        }
    }

    /// When it expires; none if never.
    pub(crate) fn expire_at(self) -> Option<Timestamp> {
        Timestamp::from_millis(self.0 / 4).ok()
    }
}

/// The row of a claim.
pub(crate) fn claim_row(key: &ChangeKey) -> Vec<u8> {
    let mut row = uri_prefix(key.queue(), key.uri());
    row.extend_from_slice(key.request_id().as_bytes());
    row
}

/// What the rows of a uri's claims begin with, and no others.
pub(crate) fn uri_prefix(queue: &str, uri: &str) -> Vec<u8> {
    let mut prefix = partition(queue, CLAIMS, uri.len() + 1);
    prefix.extend_from_slice(uri.as_bytes());
    prefix.push(SEPARATOR);
    prefix
}

/// The row of a record or counter.
pub(crate) fn document_row(key: &Key) -> Vec<u8> {
    let mut row = partition(key.pk(), DOCUMENTS, key.sk().len());
    row.extend_from_slice(key.sk().as_bytes());
    row
}

/// What the rows of a pk's documents begin with, and no others.
pub(crate) fn document_prefix(pk: &str) -> Vec<u8> {
    partition(pk, DOCUMENTS, 0)
}

fn partition(first: &str, contract: u8, more: usize) -> Vec<u8> {
    let mut row = Vec::with_capacity(first.len() + 2 + more);
    row.extend_from_slice(first.as_bytes());
    row.extend_from_slice(&[SEPARATOR, contract]);
    row
}

/// The least key that is greater than all that begin with this prefix, whose last byte is ours and not the greatest.
pub(crate) fn behind(prefix: &[u8]) -> Vec<u8> {
    let mut behind = prefix.to_vec();
    if let Some(last) = behind.last_mut() {
        *last += 1;
    }
    behind
}

#[cfg(test)]
mod tests {
    use changestore_core::limits;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_longest_keys_fit() {
        let long = |limit: limits::Limit| "x".repeat(limit.max_bytes());
        let claim = ChangeKey::new(
            long(limits::QUEUE),
            long(limits::URI),
            long(limits::REQUEST_ID),
        );
        let document = Key::new(long(limits::PARTITION_KEY), long(limits::SORT_KEY));
        assert!(claim_row(&claim.unwrap()).len() <= 4096);
        assert!(document_row(&document.unwrap()).len() <= 4096);
    }

    #[test]
    fn what_expires_latest_is_told_from_what_never_does() {
        for time in [None, Some(Timestamp::MAX), Some(Timestamp::EPOCH)] {
            assert_eq!(expire_at(cell_time(time)).unwrap(), time);
            let expiry = Expiry::new(Holding::Record, time);
            assert_eq!(expiry.expire_at(), time);
        }
        let now = Timestamp::MAX;
        let live = |time| Expiry::new(Holding::Counter, time).holding(now);
        assert_eq!(live(Some(now)), None);
        assert_eq!(live(None), Some(Holding::Counter));
        assert!(cell_time(Some(now)) < first_live_time(now));
        assert!(cell_time(None) >= first_live_time(now));
    }

    #[test]
    fn what_an_addition_to_nothing_leaves_is_nothing() {
        assert_eq!(Expiry::from_stored(0).holding(Timestamp::EPOCH), None);
    }

    proptest! {
        // Few characters, so that parts are often prefixes of each other.
        #[test]
        fn rows_are_in_the_order_of_their_keys(
            a in "[\u{1}ab\u{10ffff}]{1,3}", b in "[\u{1}ab\u{10ffff}]{1,3}",
            c in "[\u{1}ab\u{10ffff}]{1,3}", d in "[\u{1}ab\u{10ffff}]{1,3}",
            x in "[\u{1}ab]{1,3}", y in "[\u{1}ab]{1,3}",
        ) {
            let (one, other) = (Key::new(&*a, &*b).unwrap(), Key::new(&*c, &*d).unwrap());
            prop_assert_eq!(document_row(&one).cmp(&document_row(&other)), one.cmp(&other));
            let claim = ChangeKey::new(&*a, &*b, &*x).unwrap();
            let another = ChangeKey::new(&*c, &*d, &*y).unwrap();
            prop_assert_eq!(claim_row(&claim).cmp(&claim_row(&another)), claim.cmp(&another));
            prop_assert_ne!(claim_row(&claim), document_row(&one));
            let of_uri = uri_prefix(&a, &b);
            let range = of_uri.clone()..behind(&of_uri);
            prop_assert_eq!(range.contains(&claim_row(&another)), (&a, &b) == (&c, &d));
            prop_assert!(!range.contains(&document_row(&other)));
            let of_pk = document_prefix(&a);
            let range = of_pk.clone()..behind(&of_pk);
            prop_assert_eq!(range.contains(&document_row(&other)), a == c);
            prop_assert!(!range.contains(&claim_row(&another)));
        }
    }
}
