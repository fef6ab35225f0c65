//! The `DocumentStore`: a map of partitions, each sorted and with a lock of its own.

mod expiry;
mod partition;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{
    Condition, DocumentStore, Error, ErrorKind, Key, NewRecord, Operation, QueryOptions, QueryPlan,
    Record, RecordStream, Result, Timestamp,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use parking_lot::RwLock;

use crate::MemStore;
use expiry::Expiries;
use partition::{Page, Partition, Retired};

/// How many due expiries a write collects on its way: more than the one it can add, so garbage
/// shrinks under any load, and few enough that no write stands still for the others' garbage.
const COLLECTED_PER_WRITE: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Documents {
    // Locked for a look-up, or to add or remove a partition; never while one is worked on.
    partitions: RwLock<HashMap<Box<str>, Arc<Partition>>>,
    expiries: Expiries,
}

impl Documents {
    fn partition(&self, pk: &str) -> Option<Arc<Partition>> {
        self.partitions.read().get(pk).cloned()
    }

    /// Works on a partition, which is made where there is none.
    fn with_partition<T>(&self, pk: &str, work: impl Fn(&Partition) -> Result<T, Retired>) -> T {
        loop {
            let partition = match self.partition(pk) {
                Some(partition) => partition,
                None => Arc::clone(self.partitions.write().entry(pk.into()).or_default()),
            };
            // Between the look-up and the work, the partition may have become empty and been
            // dropped; a record put into it would be lost.
            if let Ok(done) = work(&partition) {
                return done;
            }
        }
    }

    fn remove_if_empty(&self, pk: &str) {
        let mut partitions = self.partitions.write();
        if partitions
            .get(pk)
            .is_some_and(|partition| partition.retire_if_empty())
        {
            partitions.remove(pk);
        }
    }

    fn get(&self, key: &Key, now: Timestamp) -> Result<Record> {
        self.partition(key.pk())
            .and_then(|partition| partition.get(key, now))
            .ok_or_else(|| Error::new(ErrorKind::NotFound))
    }

    fn put(&self, record: &NewRecord, condition: &Condition, now: Timestamp) -> Result<Record> {
        let written = self.with_partition(record.key().pk(), |partition| {
            partition.put(record, condition, now, &self.expiries)
        });
        if written.is_err() {
            // The partition may have been made for this.
            self.remove_if_empty_now(record.key().pk());
        }
        self.collect(now, COLLECTED_PER_WRITE);
        written
    }

    fn delete(&self, key: &Key, condition: &Condition, now: Timestamp) -> Result<()> {
        let not_found = || Error::new(ErrorKind::NotFound);
        let partition = self.partition(key.pk()).ok_or_else(not_found)?;
        partition.delete(key, condition, now, &self.expiries)?;
        self.remove_if_empty_now(key.pk());
        self.collect(now, COLLECTED_PER_WRITE);
        Ok(())
    }

    fn increment(
        &self,
        key: &Key,
        delta: i64,
        expire_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<i64> {
        let value = self.with_partition(key.pk(), |partition| {
            partition.increment(key, delta, expire_at, now, &self.expiries)
        });
        self.collect(now, COLLECTED_PER_WRITE);
        value
    }

    /// A page of a query, and whether the query is over.
    fn page(&self, plan: &mut QueryPlan, now: Timestamp) -> Page {
        match self.partition(plan.pk()) {
            Some(partition) => partition.page(plan, now),
            None => Page {
                records: Vec::new(),
                is_last: true,
            },
        }
    }

    /// Removes at most so many records and counters that are garbage; returns how many.
    fn collect(&self, now: Timestamp, most: usize) -> usize {
        let mut collected = 0;
        for key in self.expiries.take_due(now, most) {
            if let Some(partition) = self.partition(key.pk())
                && partition.remove_garbage(&key, now)
            {
                collected += 1;
                self.remove_if_empty_now(key.pk());
            }
        }
        collected
    }

    fn remove_if_empty_now(&self, pk: &str) {
        if self
            .partition(pk)
            .is_some_and(|partition| partition.is_empty())
        {
            self.remove_if_empty(pk);
        }
    }
}

#[async_trait]
impl DocumentStore for MemStore {
    async fn get(&self, key: &Key) -> Result<Record> {
        let shared = &*self.shared;
        self.run(Operation::Get, || {
            shared.documents.get(key, shared.clock.now())
        })
        .map_err(|error| error.with_key(key))
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let shared = &*self.shared;
        self.run(Operation::Put, || {
            shared
                .documents
                .put(&record, &condition.normalized(), shared.clock.now())
        })
        .map_err(|error| error.with_key(record.key()))
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let shared = &*self.shared;
        self.run(Operation::Delete, || {
            shared
                .documents
                .delete(key, &condition.for_delete()?, shared.clock.now())
        })
        .map_err(|error| error.with_key(key))
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        let plan = QueryPlan::new(pk, sk_prefix, &options)
            .map_err(|error| crate::named(error).with_operation(Operation::Query));
        let store = self.clone();
        let pages =
            stream::once(async move { plan }).map_ok(move |plan| pages(store.clone(), plan));
        pages.try_flatten().boxed()
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let shared = &*self.shared;
        self.run(Operation::Increment, || {
            shared
                .documents
                .increment(key, delta, expire_at, shared.clock.now())
        })
        .map_err(|error| error.with_key(key))
    }
}

/// The records of a plan, read page by page, so that no lock is held while the caller works.
fn pages(store: MemStore, plan: QueryPlan) -> RecordStream {
    let failure = store.shared.failures.next(Operation::Query);
    if let Some(failure) = failure {
        let error = failure
            .into_error(Operation::Query)
            .with_key(format_args!("({:?})", plan.pk()));
        return stream::iter([Err(error)]).boxed();
    }
    let state = (!plan.is_empty()).then_some((store, plan));
    stream::unfold(state, |state| async move {
        let (store, mut plan) = state?;
        let shared = &*store.shared;
        let page = shared.documents.page(&mut plan, shared.clock.now());
        let next = (!page.is_last && !plan.is_empty()).then_some((store, plan));
        Some((stream::iter(page.records).map(Ok), next))
    })
    .flatten()
    .boxed()
}

impl MemStore {
    /// Removes all records and counters that expired more than a
    /// [day](changestore_core::limits::GARBAGE_GRACE) ago, a few at a time, while others go on reading
    /// and writing; returns how many it removed.
    ///
    /// Nobody needs to call this: expired is absent at once, and every write collects some garbage
    /// on its way. It gives the memory back when writes have stopped.
    #[allow(clippy::must_use_candidate, reason = "the number is a courtesy")]
    pub fn collect_expired(&self) -> usize {
        let shared = &*self.shared;
        let mut collected = 0;
        loop {
            match shared.documents.collect(shared.clock.now(), 64) {
                0 if !shared.documents.expiries.has_due(shared.clock.now()) => return collected,
                some => collected += some,
            }
        }
    }
}
