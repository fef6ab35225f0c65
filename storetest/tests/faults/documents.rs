//! The `DocumentStore` with its mistakes: records and counters.

use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use bytes::Bytes;
use changestore_core::{
    Clock, Condition, DocumentStore, DocumentStoreExt, Error, ErrorKind, Etag, Key, NewRecord,
    QueryOptions, Record, RecordKind, RecordStream, Result, Timestamp, Version,
};
use futures::FutureExt;

use crate::store::{Faulty, cut, pause};
use crate::table::Fault;

impl Faulty {
    /// The key under which the store keeps a record.
    fn kept(&self, key: &Key) -> Key {
        let (pk, sk) = (key.pk(), key.sk());
        let kept = if self.has(Fault::SortKeysFoldCase) {
            Key::new(pk, sk.to_lowercase())
        } else if self.has(Fault::KeyPartsAreJoined) {
            Key::new("all", format!("{pk}#{sk}"))
        } else if self.has(Fault::SortKeysAreCut) {
            Key::new(pk, cut(sk, 255))
        } else {
            Ok(key.clone())
        };
        kept.expect("legal")
    }

    fn kept_data(&self, data: &Bytes) -> Result<Bytes> {
        if self.has(Fault::DataAreText) {
            return Ok(String::from_utf8_lossy(data).into_owned().into());
        }
        if self.has(Fault::DataEndAtNul) {
            let end = data.iter().position(|byte| *byte == 0);
            return Ok(data.slice(..end.unwrap_or(data.len())));
        }
        if self.has(Fault::EmptyDataAreRefused) && data.is_empty() {
            return Err(Error::new(ErrorKind::Other).with_message("not null"));
        }
        Ok(data.clone())
    }

    /// A record as the caller sees it.
    fn shown(&self, asked: &Key, mut record: Record) -> Record {
        record.key = asked.clone();
        if self.has(Fault::EtagIsTheVersion) {
            record.etag = Etag::new(record.version.to_string()).expect("legal");
        }
        if self.has(Fault::EtagIsAHash) {
            let mut hasher = DefaultHasher::new();
            record.data.hash(&mut hasher);
            record.etag = Etag::new(hasher.finish().to_string()).expect("legal");
        }
        record
    }

    fn understood(&self, condition: Condition) -> Condition {
        match condition {
            Condition::IfEtag(etag) if self.has(Fault::EtagIsTheVersion) => {
                let number = etag.as_str().parse().unwrap_or(u64::MAX >> 1);
                Condition::IfVersion(Version::new(number).expect("legal"))
            }
            other => other,
        }
    }

    async fn spoilt_get(&self, asked: &Key) -> Result<Record> {
        let key = self.kept(asked);
        let stale = self.memory().stale_records.get(&key).cloned();
        if let (Some(stale), true) = (stale, self.has(Fault::RecordsAreStale)) {
            return Ok(stale);
        }
        let found = self.inner.get(&key).await;
        if found.is_err() && self.has(Fault::GarbageIsDeletedAtOnce) {
            // A put over what is expired, and its removal, leave nothing to come back.
            let erased = NewRecord::new(key.clone(), Bytes::new())?;
            if self.inner.put(erased, Condition::IfAbsent).await.is_ok() {
                self.inner.delete(&key, Condition::None).await?;
            }
        }
        let memory = self.memory();
        let unseen = match &found {
            Err(_) if self.has(Fault::GetSeesExpired) => memory.expired(&key, self.clock.now()),
            Err(_) if self.has(Fault::GetSeesCounters) => {
                let value = memory.counters.get(&key).map(|(value, _)| value);
                value.map(|value| counter_as_record(&key, *value))
            }
            _ => None,
        };
        drop(memory);
        if let Ok(found) = &found {
            self.memory().stale_records.insert(key, found.clone());
        }
        unseen.map_or(found, Ok)
    }

    async fn spoilt_put(&self, new: &NewRecord, condition: Condition) -> Result<Record> {
        let key = self.kept(new.key());
        let data = self.kept_data(new.data())?;
        let live = self.inner.find(&key).await?;
        let expired = self.memory().expired(&key, self.clock.now());
        let mut expire_at = new.expire_at();
        if self.has(Fault::PutKeepsTheOldExpiry) {
            expire_at = expire_at.or_else(|| live.as_ref()?.expire_at);
        }
        let new = NewRecord::new(key.clone(), data)?.with_expire_at(expire_at);
        let failed = || Err(Error::new(ErrorKind::ConditionFailed));
        match (&condition, &live) {
            (Condition::IfVersion(Version::ABSENT), _)
                if self.has(Fault::VersionZeroIsNoAbsence) =>
            {
                return failed();
            }
            (Condition::IfVersion(_), None) if self.has(Fault::StaleVersionsCreate) => {
                return self.inner.put(new, Condition::None).await;
            }
            (Condition::IfAbsent, None) if self.has(Fault::PutSeesExpired) && expired.is_some() => {
                return failed();
            }
            (Condition::IfEtag(_), None) if self.has(Fault::ConditionIsJudgedBeforeTheKind) => {
                return failed();
            }
            _ => {}
        }
        if self.has(Fault::PutIsNotAtomic) || self.has(Fault::VersionsAreNotAtomic) {
            let read = live.as_ref().map(|record| (record.version, &record.etag));
            if !condition.holds(read) {
                return failed();
            }
            pause().await;
            let mut written = self.inner.put(new, Condition::None).await?;
            if self.has(Fault::VersionsAreNotAtomic) {
                written.version = read.map_or(Version::FIRST, |(version, _)| version.next());
            }
            return Ok(written);
        }
        if self.has(Fault::PutHasTwoSteps) && condition == Condition::IfAbsent {
            let empty = NewRecord::new(key.clone(), Bytes::new())?;
            self.inner.put(empty, condition).await?;
            pause().await;
            self.inner.delete(&key, Condition::None).await?;
            return self.inner.put(new, Condition::None).await;
        }
        let mut result = self.inner.put(new.clone(), condition).await;
        match &mut result {
            Ok(written) if self.has(Fault::VersionsGoOnAfterExpiry) => {
                if let (1, Some(expired)) = (written.version.get(), expired) {
                    written.version = expired.version.next();
                }
            }
            Ok(written) if self.has(Fault::VersionsGoOnAfterADelete) => {
                let mut memory = self.memory();
                let last = memory.versions.entry(key).or_default();
                *last += 1;
                written.version = Version::new(*last)?;
            }
            Err(error) if error.is_condition_failed() && self.has(Fault::FailedPutsWrite) => {
                self.inner.put(new, Condition::None).await?;
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WrongKind { .. })
                    && self.has(Fault::PutReplacesCounters) =>
            {
                return Ok(new.into_record(Version::FIRST, Etag::unique()));
            }
            _ => {}
        }
        result
    }

    async fn spoilt_delete(&self, asked: &Key, condition: Condition) -> Result<()> {
        let key = &self.kept(asked);
        let condition = match condition.clone().for_delete() {
            Err(_) if self.has(Fault::DeleteTakesIfAbsent) => Condition::None,
            _ => condition,
        };
        if self.has(Fault::DeleteIsNotAtomic)
            && let Some(live) = self.inner.find(key).await?
            && condition.holds(Some((live.version, &live.etag)))
        {
            pause().await;
            return match self.inner.delete(key, Condition::None).await {
                Err(error) if error.is_not_found() => Ok(()),
                other => other,
            };
        }
        let result = self.inner.delete(key, condition).await;
        let Err(error) = &result else {
            self.memory().records.remove(key);
            return result;
        };
        let mut memory = self.memory();
        let expired = memory.expired(key, self.clock.now()).is_some();
        let succeeds = error.is_not_found()
            && (self.has(Fault::DeleteOfNothingSucceeds)
                || self.has(Fault::DeleteSeesExpired) && expired
                || self.has(Fault::DeleteSeesCounters) && memory.counters.remove(key).is_some());
        if succeeds {
            return Ok(());
        }
        if error.is_condition_failed() && self.has(Fault::StaleDeleteIsNotFound) {
            return Err(Error::new(ErrorKind::NotFound));
        }
        result
    }

    async fn spoilt_increment(
        &self,
        asked: &Key,
        delta: i64,
        mut expire_at: Option<Timestamp>,
    ) -> Result<i64> {
        let key = &self.kept(asked);
        let now = self.clock.now();
        let before = self.memory().counters.get(key).copied();
        let (value, old_expiry) = before.unwrap_or_default();
        let was_expired = old_expiry.is_some_and(|at| at.is_expired_at(now));
        if self.has(Fault::IncrementIsNotAtomic) {
            let read = self.inner.increment(key, 0, expire_at).await?;
            pause().await;
            let current = self.inner.increment(key, 0, None).await?;
            return self
                .inner
                .increment(key, read + delta - current, None)
                .await;
        }
        if self.has(Fault::IncrementDropsTheExpiry) {
            expire_at = expire_at.or(Some(Timestamp::MAX));
        }
        if self.has(Fault::IncrementIgnoresTheExpiry) && before.is_some() && !was_expired {
            expire_at = None;
        }
        if self.has(Fault::ExpiredCountersGoOn) && was_expired {
            return self.inner.increment(key, value + delta, expire_at).await;
        }
        let resend = Resend {
            store: self
                .has(Fault::IncrementIsResent)
                .then_some((self, key, delta)),
        };
        let result = self.inner.increment(key, delta, expire_at).await;
        if self.has(Fault::IncrementIsResent) {
            pause().await;
        }
        resend.acknowledged();
        match result {
            Ok(value) if self.has(Fault::CountersAreFloats) => {
                #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
                let rounded = value as f64 as i64;
                Ok(rounded)
            }
            Err(error) if matches!(error.kind(), ErrorKind::InvalidArgument { .. }) => {
                if self.has(Fault::OverflowWraps) {
                    return Ok(value.wrapping_add(delta));
                }
                if self.has(Fault::OverflowSetsTheExpiry) {
                    self.inner.increment(key, 0, expire_at).await?;
                }
                Err(error)
            }
            Err(error)
                if self.has(Fault::IncrementReplacesRecords)
                    && *error.kind()
                        == (ErrorKind::WrongKind {
                            stored: RecordKind::Record,
                        }) =>
            {
                Ok(delta)
            }
            other => other,
        }
    }
}

/// Sends an increment again when it is dropped before it was acknowledged.
struct Resend<'a> {
    store: Option<(&'a Faulty, &'a Key, i64)>,
}

impl Resend<'_> {
    fn acknowledged(mut self) {
        self.store = None;
    }
}

impl Drop for Resend<'_> {
    fn drop(&mut self) {
        if let Some((store, key, delta)) = self.store {
            let again = store.inner.increment(key, delta, None).now_or_never();
            again.expect("memory does not wait").expect("counted twice");
        }
    }
}

pub(crate) fn counter_as_record(key: &Key, value: i64) -> Record {
    Record {
        key: key.clone(),
        data: value.to_string().into(),
        version: Version::FIRST,
        etag: Etag::unique(),
        expire_at: None,
    }
}

#[async_trait]
impl DocumentStore for Faulty {
    async fn get(&self, key: &Key) -> Result<Record> {
        self.send().await?;
        let found = self.spoilt_get(key).await;
        let found = found.map_err(|error| self.spoilt(error, &[]))?;
        Ok(self.shown(key, found))
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        self.send().await?;
        let condition = self.understood(condition);
        let put = self.spoilt_put(&record, condition).await;
        let written = put.map_err(|error| self.spoilt(error, record.data()))?;
        let kept = written.key.clone();
        let mut memory = self.memory();
        memory.records.insert(kept, written.clone());
        drop(memory);
        Ok(self.shown(record.key(), written))
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        self.send().await?;
        let deleted = self.spoilt_delete(key, self.understood(condition)).await;
        deleted.map_err(|error| self.spoilt(error, &[]))
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        self.spoilt_query(pk, sk_prefix, options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        self.send().await?;
        let incremented = self.spoilt_increment(key, delta, expire_at).await;
        let value = incremented.map_err(|error| self.spoilt(error, &[]))?;
        let now = self.clock.now();
        let mut memory = self.memory();
        let counter = memory.counters.entry(self.kept(key)).or_default();
        let kept = counter.1.filter(|at| !at.is_expired_at(now));
        *counter = (value, expire_at.or(kept));
        Ok(value)
    }
}
