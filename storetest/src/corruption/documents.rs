//! Spoiled records and counters.

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt as _, Error, ErrorKind, Etag, Key, NewRecord,
    Operation, QueryOptions, Record, Result, Timestamp, Version,
};
use futures::TryStreamExt as _;
use futures::future::join_all;

use super::told::{Place, is_corrupt};
use super::{Field, Row, Tally, Value, Vandal, values};

const FIELDS: [Field; 5] = [
    Field::Version,
    Field::Etag,
    Field::ExpireAt,
    Field::Data,
    Field::Counter,
];

/// Writes beside the one on a spoiled row: they may come to share its transaction.
const BESIDE: usize = 8;

/// What a spoiled row is by now.
#[derive(Debug)]
enum Meaning {
    /// Another record.
    Record(Box<Record>),
    /// Expired.
    Absent,
    Corrupt,
    /// It has what only counters have, or an expiry before all time: nothing that may be told as a record.
    NoRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Put,
    PutIfAbsent,
    PutIfVersion,
    PutIfEtag,
    Delete,
    DeleteIfVersion,
    Increment,
}

const WRITES: [Write; 7] = [
    Write::Put,
    Write::PutIfAbsent,
    Write::PutIfVersion,
    Write::PutIfEtag,
    Write::Delete,
    Write::DeleteIfVersion,
    Write::Increment,
];

/// A check of one value in one field.
struct Check<'a> {
    store: &'a dyn DocumentStore,
    vandal: &'a dyn Vandal,
    field: Field,
    value: &'a Value,
    now: Timestamp,
    pk: String,
    place: Place<'a>,
}

/// Spoils documents of an empty store in every awkward way and in so many random ones, and checks what its operations
/// say. The time is what the store's clock says all the while.
///
/// # Panics
/// If one panics, hangs, tells a value that nobody stored, or changes what it says that it has not.
pub async fn documents(
    store: &dyn DocumentStore,
    vandal: &dyn Vandal,
    now: Timestamp,
    seed: u64,
    rounds: usize,
) -> Tally {
    let mut tally = Tally::default();
    let random = (0..rounds).map(|n| values::random(seed, n));
    for (n, value) in values::awkward().into_iter().chain(random).enumerate() {
        for field in FIELDS {
            let what = (field, &value);
            let check = Check {
                store,
                vandal,
                field,
                value: &value,
                now,
                pk: format!("{n}/{field:?}"),
                place: Place { seed, what: &what },
            };
            check.record(&mut tally).await;
        }
        let what = ("a counter", &value);
        let check = Check {
            store,
            vandal,
            field: Field::Counter,
            value: &value,
            now,
            pk: format!("{n}/counter"),
            place: Place { seed, what: &what },
        };
        check.counter(&mut tally).await;
    }
    tally
}

impl Check<'_> {
    fn key(&self, sk: &str) -> Key {
        Key::new(self.pk.clone(), sk).expect("a key")
    }

    fn new_record(&self, sk: &str, data: &'static str) -> NewRecord {
        NewRecord::new(self.key(sk), data).expect("a record")
    }

    /// A record of version 2 that was spoiled then; none if the database cannot hold the value.
    async fn spoiled(&self, sk: &str) -> Option<Record> {
        let put = |data| self.store.put(self.new_record(sk, data), Condition::None);
        put("first").await.expect("put");
        let stored = put("second").await.expect("put");
        let row = Row::Document(stored.key.clone());
        let is_spoiled = self.vandal.spoil(&row, self.field, self.value).await;
        is_spoiled.then_some(stored)
    }

    async fn record(&self, tally: &mut Tally) {
        let Self { store, place, .. } = self;
        let Some(stored) = self.spoiled("a").await else {
            tally.impossible += 1;
            return;
        };
        tally.spoiled += 1;
        let whole = store.put(self.new_record("b", "whole"), Condition::None);
        let whole = whole.await.expect("put");
        let meaning = self.meaning(&stored);

        let got = place
            .call(tally, Operation::Get, store.get(&stored.key))
            .await;
        self.check_read(&meaning, got.as_ref());
        // Both ways: what is damaged comes first in one, and behind what is whole in the other.
        for descending in [false, true] {
            let options = QueryOptions::default().with_descending(descending);
            let query = store.query(&self.pk, "", options).try_collect::<Vec<_>>();
            let found = place.call(tally, Operation::Query, query).await;
            let found = found.map(|records| {
                assert_eq!(
                    records.iter().filter(|record| **record == whole).count(),
                    1,
                    "{place}"
                );
                records.into_iter().find(|record| *record != whole)
            });
            let found = match &found {
                Ok(Some(record)) => Ok(record),
                Ok(None) => Err(&Error::new(ErrorKind::NotFound)),
                Err(error) => Err(error),
            };
            self.check_read(&meaning, found);
        }
        for (n, write) in WRITES.into_iter().enumerate() {
            let sk = format!("w{n}");
            let stored = self.spoiled(&sk).await.expect("a row as before");
            self.write(write, &stored, &self.meaning(&stored), tally)
                .await;
        }
    }

    fn check_read(&self, meaning: &Meaning, read: Result<&Record, &Error>) {
        let is_right = match (meaning, read) {
            (Meaning::Record(meaning), Ok(record)) => **meaning == *record,
            (Meaning::Absent, Err(error)) => error.is_not_found(),
            (Meaning::Corrupt, Err(error)) => is_corrupt(error),
            (Meaning::NoRecord, Err(error)) => is_corrupt(error) || error.is_not_found(),
            _ => false,
        };
        assert!(is_right, "{read:?} is not {meaning:?} {}", self.place);
    }

    async fn write(&self, write: Write, stored: &Record, meaning: &Meaning, tally: &mut Tally) {
        let Self { store, place, .. } = self;
        let key = &stored.key;
        let before = store.get(key).await;
        let beside = (0..BESIDE).map(|n| {
            let record = self.new_record(&format!("{}/{n}", key.sk()), "beside");
            store.put(record, Condition::None)
        });
        let (written, beside) = tokio::join!(self.attempt(write, stored, tally), join_all(beside));
        for put in beside {
            put.unwrap_or_else(|error| panic!("{error:?} of a key beside {write:?} {place}"));
        }
        let after = store.get(key).await;
        match written {
            Ok(Some(record)) => {
                assert_eq!(after.as_ref().ok(), Some(&record), "{write:?} {place}");
                let expected = match meaning {
                    Meaning::Record(old) => old.version.next(),
                    _ => stored.version.next(),
                };
                // Nobody counts on from an impossible version, but an etag may tell the right one.
                let is_next = record.version == expected;
                let is_free = matches!(meaning, Meaning::Absent | Meaning::NoRecord)
                    && record.version == Version::FIRST;
                assert!(is_next || is_free, "{write:?} made {record:?} {place}");
            }
            Ok(None) => {
                let is_gone = after.as_ref().is_err_and(Error::is_not_found);
                assert!(is_gone, "{after:?} after {write:?} {place}");
            }
            Err(error) => {
                let same = match (&before, &after) {
                    (Ok(before), Ok(after)) => before == after,
                    (Err(before), Err(after)) => before.kind() == after.kind(),
                    _ => false,
                };
                assert!(
                    same,
                    "{write:?} was refused ({error}), and left {after:?} {place}"
                );
                let must_say = self.field == Field::Version
                    && matches!(meaning, Meaning::Corrupt)
                    && write == Write::Put;
                assert!(
                    !must_say || is_corrupt(&error),
                    "{write:?}: {error:?} {place}"
                );
            }
        }
    }

    /// The record that a put returned; none for a delete or an increment.
    async fn attempt(
        &self,
        write: Write,
        stored: &Record,
        tally: &mut Tally,
    ) -> Result<Option<Record>> {
        let Self { store, place, .. } = self;
        let (version, etag): (Version, Etag) = (stored.version, stored.etag.clone());
        let condition = match write {
            Write::Put | Write::Delete | Write::Increment => Condition::None,
            Write::PutIfAbsent => Condition::IfAbsent,
            Write::PutIfVersion | Write::DeleteIfVersion => Condition::IfVersion(version),
            Write::PutIfEtag => Condition::IfEtag(etag),
        };
        match write {
            Write::Put | Write::PutIfAbsent | Write::PutIfVersion | Write::PutIfEtag => {
                let record = self.new_record(stored.key.sk(), "third");
                let put = store.put(record, condition);
                place.call(tally, Operation::Put, put).await.map(Some)
            }
            Write::Delete | Write::DeleteIfVersion => {
                let delete = store.delete(&stored.key, condition);
                place.call(tally, Operation::Delete, delete).await?;
                Ok(None)
            }
            Write::Increment => {
                let increment = store.increment(&stored.key, 1, None);
                place.call(tally, Operation::Increment, increment).await?;
                Ok(None)
            }
        }
    }

    /// A counter at 5 whose value was replaced.
    async fn counter(&self, tally: &mut Tally) {
        let Self { store, place, .. } = self;
        let key = self.key("n");
        store.increment(&key, 5, None).await.expect("counted");
        let row = Row::Document(key.clone());
        if !self.vandal.spoil(&row, Field::Counter, self.value).await {
            tally.impossible += 1;
            return;
        }
        tally.spoiled += 1;
        let value = match self.value {
            Value::Integer(value) => Some(*value),
            _ => None,
        };
        for delta in [0, 1] {
            let counted = store.increment(&key, delta, None);
            let counted = place.call(tally, Operation::Increment, counted).await;
            match (value.map(|value| value.checked_add(delta)), counted) {
                (Some(Some(sum)), Ok(counted)) => assert_eq!(counted, sum, "{place}"),
                (Some(None), Err(error)) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
                        "{error:?}"
                    );
                }
                (None, Err(error)) => assert!(is_corrupt(&error), "{error:?} {place}"),
                (_, counted) => panic!("{counted:?} {place}"),
            }
        }
        let put = store.put(self.new_record("n", "record"), Condition::None);
        let put = place.call(tally, Operation::Put, put).await;
        assert!(put.is_err(), "{put:?} over a counter {place}");
        // However damaged its rows are, a partition can be read or says that it cannot.
        let query = store.query_all(&self.pk, "", QueryOptions::default());
        if let Ok(records) = place.call(tally, Operation::Query, query).await {
            assert!(records.is_empty(), "{records:?} {place}");
        }
    }

    fn meaning(&self, stored: &Record) -> Meaning {
        let mut record = stored.clone();
        match (self.field, self.value) {
            (Field::Version, Value::Integer(version @ 1..)) => {
                record.version = Version::try_from(*version).expect("in range");
            }
            (Field::Etag, Value::Text(text)) => match Etag::new(text) {
                Ok(etag) => record.etag = etag,
                Err(_) => return Meaning::Corrupt,
            },
            (Field::ExpireAt, Value::Nothing) => record.expire_at = None,
            (Field::ExpireAt, Value::Integer(..0)) => return Meaning::NoRecord,
            (Field::ExpireAt, Value::Integer(millis)) => match Timestamp::from_millis(*millis) {
                Ok(expire_at) if expire_at.is_expired_at(self.now) => return Meaning::Absent,
                Ok(expire_at) => record.expire_at = Some(expire_at),
                Err(_) => return Meaning::Corrupt,
            },
            (Field::Data, Value::Bytes(data)) => record.data = data.clone().into(),
            (Field::Counter, Value::Nothing) => {}
            (Field::Counter, _) => return Meaning::NoRecord,
            _ => return Meaning::Corrupt,
        }
        Meaning::Record(Box::new(record))
    }
}
