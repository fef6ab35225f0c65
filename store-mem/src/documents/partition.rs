//! One partition: its records and counters in the order of their sort keys.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

use bytes::Bytes;
use changestore_core::{
    Condition, Error, ErrorKind, Etag, Key, NewRecord, QueryPlan, Record, RecordKind, Result,
    Timestamp, Version,
};
use parking_lot::RwLock;

use super::expiry::Expiries;

/// The most records that a query takes at once.
const PAGE_RECORDS: usize = 256;
/// The most entries it looks at for them, expired ones and counters included: what a writer of the
/// partition can have to wait for.
const PAGE_ENTRIES: usize = 1024;

/// The partition was dropped from the map; look it up again.
#[derive(Debug)]
pub(super) struct Retired;

#[derive(Debug, Default)]
pub(super) struct Partition {
    entries: RwLock<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_sort_key: BTreeMap<Box<str>, Stored>,
    retired: bool,
}

struct Stored {
    value: Value,
    expire_at: Option<Timestamp>,
}

enum Value {
    Record {
        data: Bytes,
        version: Version,
        etag: Etag,
    },
    Counter(i64),
}

/// Prints no payload.
impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored")
            .field("expire_at", &self.expire_at)
            .finish_non_exhaustive()
    }
}

/// Some records of a query.
pub(super) struct Page {
    pub(super) records: Vec<Record>,
    pub(super) is_last: bool,
}

impl Stored {
    fn is_expired_at(&self, now: Timestamp) -> bool {
        self.expire_at
            .is_some_and(|expire_at| expire_at.is_expired_at(now))
    }

    /// This as a record, unless it is a counter or has expired.
    fn record(&self, key: impl FnOnce() -> Key, now: Timestamp) -> Option<Record> {
        match &self.value {
            Value::Record {
                data,
                version,
                etag,
            } if !self.is_expired_at(now) => Some(Record {
                key: key(),
                data: data.clone(),
                version: *version,
                etag: etag.clone(),
                expire_at: self.expire_at,
            }),
            _ => None,
        }
    }
}

impl Entries {
    fn live(&self, sk: &str, now: Timestamp) -> Option<&Stored> {
        self.by_sort_key
            .get(sk)
            .filter(|stored| !stored.is_expired_at(now))
    }

    fn set(&mut self, key: &Key, stored: Stored, expiries: &Expiries) {
        let new = stored.expire_at;
        let old = if let Some(slot) = self.by_sort_key.get_mut(key.sk()) {
            std::mem::replace(slot, stored).expire_at
        } else {
            self.by_sort_key.insert(key.sk().into(), stored);
            None
        };
        expiries.replace(key, old, new);
    }
}

impl Partition {
    pub(super) fn get(&self, key: &Key, now: Timestamp) -> Option<Record> {
        let entries = self.entries.read();
        entries
            .by_sort_key
            .get(key.sk())?
            .record(|| key.clone(), now)
    }

    pub(super) fn put(
        &self,
        record: &NewRecord,
        condition: &Condition,
        now: Timestamp,
        expiries: &Expiries,
    ) -> Result<Result<Record>, Retired> {
        let key = record.key();
        let mut entries = self.entries.write();
        if entries.retired {
            return Err(Retired);
        }
        let live = match entries.live(key.sk(), now).map(|stored| &stored.value) {
            Some(Value::Counter(_)) => {
                return Ok(Err(Error::new(ErrorKind::WrongKind {
                    stored: RecordKind::Counter,
                })));
            }
            Some(Value::Record { version, etag, .. }) => Some((*version, etag)),
            None => None,
        };
        if !condition.holds(live) {
            return Ok(Err(Error::new(ErrorKind::ConditionFailed)));
        }
        let version = live.map_or(Version::FIRST, |(version, _)| version.next());
        let written = record.clone().into_record(version, Etag::unique());
        let value = Value::Record {
            data: written.data.clone(),
            version,
            etag: written.etag.clone(),
        };
        entries.set(
            key,
            Stored {
                value,
                expire_at: written.expire_at,
            },
            expiries,
        );
        Ok(Ok(written))
    }

    pub(super) fn delete(
        &self,
        key: &Key,
        condition: &Condition,
        now: Timestamp,
        expiries: &Expiries,
    ) -> Result<()> {
        let mut entries = self.entries.write();
        let Some(Stored {
            value: Value::Record { version, etag, .. },
            expire_at,
        }) = entries.live(key.sk(), now)
        else {
            return Err(Error::new(ErrorKind::NotFound));
        };
        if !condition.holds(Some((*version, etag))) {
            return Err(Error::new(ErrorKind::ConditionFailed));
        }
        expiries.replace(key, *expire_at, None);
        entries.by_sort_key.remove(key.sk());
        Ok(())
    }

    pub(super) fn increment(
        &self,
        key: &Key,
        delta: i64,
        expire_at: Option<Timestamp>,
        now: Timestamp,
        expiries: &Expiries,
    ) -> Result<Result<i64>, Retired> {
        let mut entries = self.entries.write();
        if entries.retired {
            return Err(Retired);
        }
        let (value, old_expire_at) = match entries.live(key.sk(), now) {
            Some(Stored {
                value: Value::Record { .. },
                ..
            }) => {
                return Ok(Err(Error::new(ErrorKind::WrongKind {
                    stored: RecordKind::Record,
                })));
            }
            Some(Stored {
                value: Value::Counter(value),
                expire_at,
            }) => {
                let Some(sum) = value.checked_add(delta) else {
                    return Ok(Err(Error::counter_overflow(delta)));
                };
                (sum, *expire_at)
            }
            None => (delta, None),
        };
        let expire_at = expire_at.or(old_expire_at);
        entries.set(
            key,
            Stored {
                value: Value::Counter(value),
                expire_at,
            },
            expiries,
        );
        Ok(Ok(value))
    }

    /// Takes the next page of a plan and moves the plan behind it.
    pub(super) fn page(&self, plan: &mut QueryPlan, now: Timestamp) -> Page {
        let entries = self.entries.read();
        let range = entries
            .by_sort_key
            .range::<str, (Bound<&str>, Bound<&str>)>((plan.lower(), plan.upper()));
        let wanted = plan.page_limit(PAGE_RECORDS);
        let mut page = Page {
            records: Vec::new(),
            is_last: true,
        };
        let mut last = None;
        let mut take = |sk: &str, stored: &Stored| {
            last = Some(sk.to_owned());
            let key = || Key::new(plan.pk(), sk).expect("a stored key was checked before");
            page.records.extend(stored.record(key, now));
            page.records.len() < wanted
        };
        let looked_at = if plan.descending() {
            range
                .rev()
                .take(PAGE_ENTRIES)
                .take_while(|(sk, stored)| take(sk, stored))
                .count()
        } else {
            range
                .take(PAGE_ENTRIES)
                .take_while(|(sk, stored)| take(sk, stored))
                .count()
        };
        if let Some(last) = last {
            // Stopped by a full page or by the most entries, there may be more behind it.
            page.is_last = looked_at < PAGE_ENTRIES && page.records.len() < wanted;
            plan.advance(&last, page.records.len());
        }
        page
    }

    /// Removes what is at the key if it expired long enough ago.
    pub(super) fn remove_garbage(&self, key: &Key, now: Timestamp) -> bool {
        let mut entries = self.entries.write();
        match entries.by_sort_key.entry(key.sk().into()) {
            Entry::Occupied(entry)
                if entry
                    .get()
                    .expire_at
                    .is_some_and(|expire_at| expire_at.is_garbage_at(now)) =>
            {
                entry.remove();
                true
            }
            _ => false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.read().by_sort_key.is_empty()
    }

    /// Closes the partition for good if it is empty; the caller then takes it out of the map.
    pub(super) fn retire_if_empty(&self) -> bool {
        let mut entries = self.entries.write();
        entries.retired = entries.by_sort_key.is_empty();
        entries.retired
    }
}
