//! The store in memory with one bug.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Clock as _, Condition, CreateOutcome, DocumentStore,
    DocumentStoreExt as _, Error, ErrorKind, Etag, Key, ManualClock, MetadataUpdate, NewRecord,
    QueryOptions, Record, RecordStream, Result, Timestamp, Version,
};
use futures::StreamExt as _;
use store_mem::MemStore;
use storetest::torture::Anomaly;

#[derive(Debug)]
pub(crate) struct Planted {
    inner: MemStore,
    clock: ManualClock,
    bug: Option<Anomaly>,
    calls: AtomicUsize,
    /// What was put last, by the key.
    put: Mutex<HashMap<Key, Record>>,
    /// What was read before.
    read: Mutex<HashMap<Key, Record>>,
    claims_read: Mutex<HashMap<(String, String), Vec<ChangeRecord>>>,
}

impl Planted {
    pub(crate) fn new(clock: ManualClock, bug: Option<Anomaly>) -> Self {
        Self {
            inner: MemStore::with_clock(clock.clone()),
            clock,
            bug,
            calls: AtomicUsize::new(0),
            put: Mutex::default(),
            read: Mutex::default(),
            claims_read: Mutex::default(),
        }
    }

    fn has(&self, bug: Anomaly) -> bool {
        self.bug == Some(bug)
    }

    /// Whether this call is one of those that show the bug.
    fn shows(&self, bug: Anomaly, one_of: usize) -> bool {
        self.has(bug) && self.calls.fetch_add(1, Ordering::SeqCst) % one_of == one_of - 1
    }

    /// A record as a store shows it whose etags are its versions.
    fn shown(&self, mut record: Record) -> Record {
        if self.has(Anomaly::ReusedEtag) {
            record.etag = Etag::new(record.version.to_string()).unwrap();
        }
        record
    }

    fn understood(&self, condition: Condition) -> Condition {
        match condition {
            Condition::IfEtag(etag) if self.has(Anomaly::ReusedEtag) => {
                let version = etag.as_str().parse().unwrap_or(u64::MAX >> 2);
                Condition::IfVersion(Version::new(version).unwrap())
            }
            other => other,
        }
    }
}

/// Lets every other task come in between.
async fn pause() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl DocumentStore for Planted {
    async fn get(&self, key: &Key) -> Result<Record> {
        let found = self.inner.get(key).await;
        if self.has(Anomaly::ResurrectedExpired) && found.is_err() {
            let last = self.put.lock().unwrap().get(key).cloned();
            let now = self.clock.now();
            let expired =
                last.filter(|last| last.expire_at.is_some_and(|at| at.is_expired_at(now)));
            return expired.map_or(found, Ok);
        }
        if let Ok(found) = &found {
            let before = self.read.lock().unwrap().insert(key.clone(), found.clone());
            if let Some(before) = before
                && self.shows(Anomaly::StaleRead, 3)
            {
                return Ok(before);
            }
        }
        found.map(|record| self.shown(record))
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let condition = self.understood(condition).normalized();
        let live = self.inner.find(record.key()).await?;
        let holds = condition.holds(live.as_ref().map(|live| (live.version, &live.etag)));
        let next = live
            .as_ref()
            .map_or(Version::FIRST, |live| live.version.next());
        if holds && self.shows(Anomaly::SwallowedFailure, 7) {
            return Ok(record.into_record(next, Etag::unique()));
        }
        let result = if holds && self.has(Anomaly::LostUpdate) {
            pause().await;
            self.inner.put(record, Condition::None).await
        } else if holds && live.is_some() && self.shows(Anomaly::ReusedVersion, 9) {
            let stored = self.inner.put(record, condition).await;
            stored.map(|stored| Record {
                version: live.expect("just seen").version,
                ..stored
            })
        } else {
            self.inner.put(record, condition).await
        };
        if let Ok(stored) = &result {
            self.put
                .lock()
                .unwrap()
                .insert(stored.key.clone(), stored.clone());
            if self.shows(Anomaly::AppliedFailure, 7) {
                return Err(Error::new(ErrorKind::ConditionFailed));
            }
        }
        result.map(|record| self.shown(record))
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let deleted = self.inner.delete(key, self.understood(condition)).await;
        if deleted.is_ok() {
            self.put.lock().unwrap().remove(key);
        }
        deleted
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        let has_etags = !self.has(Anomaly::ReusedEtag);
        let records = self.inner.query(pk, sk_prefix, options);
        let shown = records.map(move |record| {
            let mut record = record?;
            if !has_etags {
                record.etag = Etag::new(record.version.to_string())?;
            }
            Ok(record)
        });
        shown.boxed()
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let counted = self.inner.increment(key, delta, expire_at).await?;
        if self.shows(Anomaly::DoubleIncrement, 5) {
            return self.inner.increment(key, delta, expire_at).await;
        }
        Ok(counted)
    }
}

#[async_trait]
impl ChangeStore for Planted {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        self.inner.create(record).await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let claims = self.inner.get_by_uri(queue, uri).await?;
        let at = (queue.to_owned(), uri.to_owned());
        let before = self.claims_read.lock().unwrap().insert(at, claims.clone());
        match before {
            Some(before) if self.shows(Anomaly::StaleRead, 3) => Ok(before),
            _ => Ok(claims),
        }
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        if self.shows(Anomaly::SwallowedFailure, 7) {
            let claims = self.inner.get_by_uri(key.queue(), key.uri()).await?;
            let is_current = |claim: &ChangeRecord| claim.version == update.old_version;
            if claims
                .iter()
                .any(|claim| claim.key == *key && is_current(claim))
            {
                return Ok(());
            }
        }
        let updated = self.inner.update_metadata(key, update.clone()).await;
        match updated {
            Err(error) if self.has(Anomaly::LostUpdate) && error.stored_version().is_some() => {
                let old_version = error.stored_version().unwrap();
                self.inner
                    .update_metadata(
                        key,
                        MetadataUpdate {
                            old_version,
                            ..update
                        },
                    )
                    .await
            }
            Ok(()) if self.shows(Anomaly::AppliedFailure, 7) => {
                let stored = update.new_version;
                Err(Error::new(ErrorKind::VersionMismatch { stored }))
            }
            other => other,
        }
    }
}
