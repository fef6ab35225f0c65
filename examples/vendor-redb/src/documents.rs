//! The `DocumentStore`.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use changestore_core::{
    Condition, DocumentStore, Error, ErrorKind, Etag, Key, NewRecord, Operation, QueryOptions,
    QueryPlan, Record, RecordKind, RecordStream, Result, Timestamp, Version,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use redb::{ReadableTable, ReadableTableMetadata, Value};

use crate::claims::decode_version;
use crate::error::{Failure, corrupt};
use crate::tables::{self, COUNTERS, CounterValue, DocumentKey, RECORDS, RecordValue};
use crate::{RedbStore, named};

/// The most entries that a query looks at in one read transaction.
const PAGE_ENTRIES: usize = 256;
/// A page ends with the record that takes it over so many bytes: 256 records may be 96 MiB.
const PAGE_BYTES: usize = 1 << 20;

type StoredRecord<'a> = <RecordValue as Value>::SelfType<'a>;
/// A counter's value and when it expires.
type Counter = (i64, Option<Timestamp>);

fn encode(record: &Record) -> StoredRecord<'_> {
    (
        record.version.as_i64(),
        record.expire_at.map(Timestamp::as_millis),
        record.etag.as_str(),
        &record.data,
    )
}

fn decode_expiry(expire_at: Option<i64>) -> Result<Option<Timestamp>> {
    let expire_at = expire_at.map(Timestamp::from_millis).transpose();
    expire_at.map_err(corrupt)
}

/// Expired is absent: at once, for every operation, and by the store's clock alone.
fn is_live(expire_at: Option<Timestamp>, now: Timestamp) -> bool {
    expire_at.is_none_or(|expire_at| !expire_at.is_expired_at(now))
}

fn decode(key: Key, stored: StoredRecord<'_>, now: Timestamp) -> Result<Option<Record>> {
    let (version, expire_at, etag, data) = stored;
    let expire_at = decode_expiry(expire_at)?;
    if !is_live(expire_at, now) {
        return Ok(None);
    }
    Ok(Some(Record {
        key,
        data: Bytes::copy_from_slice(data),
        version: decode_version(version)?,
        etag: Etag::new(etag).map_err(corrupt)?,
        expire_at,
    }))
}

/// The live record at a key, if there is one.
fn live_record(
    records: &impl ReadableTable<DocumentKey, RecordValue>,
    key: &Key,
    now: Timestamp,
) -> Result<Option<Record>, Failure> {
    match records.get((key.pk(), key.sk()))? {
        Some(stored) => Ok(decode(key.clone(), stored.value(), now)?),
        None => Ok(None),
    }
}

/// The live counter at a key, if there is one.
fn live_counter(
    counters: &impl ReadableTable<DocumentKey, CounterValue>,
    key: &Key,
    now: Timestamp,
) -> Result<Option<Counter>, Failure> {
    let Some(stored) = counters.get((key.pk(), key.sk()))? else {
        return Ok(None);
    };
    let (value, expire_at) = stored.value();
    let expire_at = decode_expiry(expire_at)?;
    Ok(is_live(expire_at, now).then_some((value, expire_at)))
}

fn wrong_kind(stored: RecordKind) -> Failure {
    Failure::from(ErrorKind::WrongKind { stored })
}

#[async_trait]
impl DocumentStore for RedbStore {
    async fn get(&self, key: &Key) -> Result<Record> {
        let (wanted, clock) = (key.clone(), Arc::clone(&self.clock));
        self.read(move |transaction| {
            let records = transaction.open_table(RECORDS)?;
            live_record(&records, &wanted, clock.now())?
                .ok_or_else(|| Failure::from(ErrorKind::NotFound))
        })
        .await
        .map_err(|error| named(error, Operation::Get).with_key(key))
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let (key, clock) = (record.key().clone(), Arc::clone(&self.clock));
        // Drawn once per call, before the first attempt. An adapter that sends again after a lost
        // reply knows its own write by it; redb has no replies to lose.
        let etag = Etag::unique();
        self.write(move |transaction| {
            let mut records = transaction.open_table(RECORDS)?;
            let mut counters = transaction.open_table(COUNTERS)?;
            // The time of the write itself, not of the call: it may have waited for its turn.
            let (key, now) = (record.key().clone(), clock.now());
            // The kind is judged first, so it is told whatever the condition.
            if live_counter(&counters, &key, now)?.is_some() {
                return Err(wrong_kind(RecordKind::Counter));
            }
            let live = live_record(&records, &key, now)?;
            let seen = live.as_ref().map(|live| (live.version, &live.etag));
            if !condition.holds(seen) {
                return Err(Failure::from(ErrorKind::ConditionFailed));
            }
            let version = seen.map_or(Version::FIRST, |(version, _)| version.next());
            let written = record.into_record(version, etag);
            // An expired counter must not come back when the clock is set back.
            counters.remove((key.pk(), key.sk()))?;
            records.insert((key.pk(), key.sk()), encode(&written))?;
            Ok(written)
        })
        .await
        .map_err(|error| named(error, Operation::Put).with_key(key))
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let (wanted, clock) = (key.clone(), Arc::clone(&self.clock));
        let delete = async {
            let condition = condition.for_delete()?;
            self.write(move |transaction| {
                let mut records = transaction.open_table(RECORDS)?;
                // A counter is none, and a missing record is not found whatever the condition.
                let live = live_record(&records, &wanted, clock.now())?
                    .ok_or_else(|| Failure::from(ErrorKind::NotFound))?;
                if !condition.holds(Some((live.version, &live.etag))) {
                    return Err(Failure::from(ErrorKind::ConditionFailed));
                }
                records.remove((wanted.pk(), wanted.sk()))?;
                Ok(())
            })
            .await
        };
        delete
            .await
            .map_err(|error| named(error, Operation::Delete).with_key(key))
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        let store = self.clone();
        // The core checks the arguments, and intersects prefix and `start_after`. Nothing runs until
        // the stream is polled, and an error is its last item.
        let first = QueryPlan::new(pk, sk_prefix, &options).map(Some);
        stream::try_unfold(first, move |plan| {
            let store = store.clone();
            async move {
                // An empty range must not be read: redb, like a sorted map, may refuse its ends.
                let Some(plan) = plan?.filter(|plan| !plan.is_empty()) else {
                    return Ok(None);
                };
                let (records, next) = store.page(plan).await?;
                let records = stream::iter(records.into_iter().map(Ok));
                Ok(Some((records, Ok(next))))
            }
        })
        .try_flatten()
        .map_err(|error| named(error, Operation::Query))
        .boxed()
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let (wanted, clock) = (key.clone(), Arc::clone(&self.clock));
        self.write(move |transaction| {
            let mut records = transaction.open_table(RECORDS)?;
            let mut counters = transaction.open_table(COUNTERS)?;
            let now = clock.now();
            if live_record(&records, &wanted, now)?.is_some() {
                return Err(wrong_kind(RecordKind::Record));
            }
            // Absent or expired starts at the delta, and keeps no old expiry.
            let (value, kept) = live_counter(&counters, &wanted, now)?.unwrap_or((0, None));
            let sum = value
                .checked_add(delta)
                .ok_or_else(|| Error::counter_overflow(delta))?;
            let expire_at = expire_at.or(kept).map(Timestamp::as_millis);
            records.remove((wanted.pk(), wanted.sk()))?;
            counters.insert((wanted.pk(), wanted.sk()), (sum, expire_at))?;
            Ok(sum)
        })
        .await
        .map_err(|error| named(error, Operation::Increment).with_key(key))
    }
}

impl RedbStore {
    /// Some records of a plan, and the plan of the rest if there may be one. Each page reads from a
    /// snapshot of its own: a long-lived one would keep redb from reusing space.
    async fn page(&self, mut plan: QueryPlan) -> Result<(Vec<Record>, Option<QueryPlan>)> {
        let clock = Arc::clone(&self.clock);
        let partition = format!("({:?})", plan.pk());
        self.read(move |transaction| {
            let table = transaction.open_table(RECORDS)?;
            let end = tables::successor(plan.pk());
            let mut range = table.range(tables::records_of_plan(&plan, &end))?;
            let (now, wanted) = (clock.now(), plan.page_limit(PAGE_ENTRIES));
            let (mut records, mut bytes, mut last_sk) = (Vec::new(), 0, String::new());
            for _ in 0..PAGE_ENTRIES {
                let entry = if plan.descending() {
                    range.next_back()
                } else {
                    range.next()
                };
                let Some(entry) = entry else {
                    return Ok((records, None));
                };
                let (key, stored) = entry?;
                let (pk, sk) = key.value();
                sk.clone_into(&mut last_sk);
                let key = Key::new(pk, sk).map_err(corrupt)?;
                // Expired records take part in the page and do not count towards the limit.
                if let Some(record) = decode(key, stored.value(), now)? {
                    bytes += record.data.len();
                    records.push(record);
                }
                if records.len() == wanted || bytes >= PAGE_BYTES {
                    break;
                }
            }
            plan.advance(&last_sk, records.len());
            Ok((records, Some(plan)))
        })
        .await
        .map_err(|error| error.with_key(partition))
    }

    /// Removes all records and counters that expired more than a day ago; returns how many.
    ///
    /// No operation needs it, it only frees their space: what a backend's own TTL would do. It is one
    /// transaction, for which other writers wait and readers do not.
    ///
    /// # Errors
    /// Those of redb.
    pub async fn collect_expired(&self) -> Result<u64> {
        let clock = Arc::clone(&self.clock);
        self.write(move |transaction| {
            let mut records = transaction.open_table(RECORDS)?;
            let mut counters = transaction.open_table(COUNTERS)?;
            let before = records.len()? + counters.len()?;
            let now = clock.now();
            // What cannot be read is not thrown away either.
            let keep = |expire_at: Option<i64>| {
                let expire_at = expire_at.and_then(|millis| Timestamp::from_millis(millis).ok());
                expire_at.is_none_or(|expire_at| !expire_at.is_garbage_at(now))
            };
            records.retain(|_, (_, expire_at, _, _)| keep(expire_at))?;
            counters.retain(|_, (_, expire_at)| keep(expire_at))?;
            Ok(before - records.len()? - counters.len()?)
        })
        .await
        .map_err(|error| named(error, Operation::Delete))
    }
}
