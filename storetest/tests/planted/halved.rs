//! The store in memory, which counts in two steps: a call that is dropped between them is half done.

use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{
    ChangeStore, Condition, DocumentStore, Key, ManualClock, NewRecord, QueryOptions, Record,
    RecordStream, Result, Timestamp,
};
use store_mem::MemStore;
use storetest::torture::{Anomaly, Settings, model};
use storetest::{Fixture, Harness};
use tokio::task::yield_now;

use crate::ROUNDS;

#[derive(Debug)]
struct Halved(MemStore);

#[async_trait]
impl DocumentStore for Halved {
    async fn get(&self, key: &Key) -> Result<Record> {
        self.0.get(key).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        self.0.put(record, condition).await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        self.0.delete(key, condition).await
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        self.0.query(pk, sk_prefix, options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let before = self.0.increment(key, 0, expire_at).await?;
        if delta < 2 || expire_at.is_some() || before.checked_add(delta).is_none() {
            return self.0.increment(key, delta, expire_at).await;
        }
        self.0.increment(key, 1, expire_at).await?;
        yield_now().await;
        self.0.increment(key, delta - 1, expire_at).await
    }
}

#[derive(Debug)]
struct HalvedHarness;

#[async_trait]
impl Harness for HalvedHarness {
    fn backend(&self) -> &'static str {
        "halved"
    }

    async fn engine(&self) -> String {
        "store-mem in two steps".to_owned()
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(Arc::new(MemStore::with_clock(clock.clone())), clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let store = Halved(MemStore::with_clock(clock.clone()));
        Fixture::new(Arc::new(store), clock)
    }
}

/// A dropped call may have happened or not, but not by half; and without one there is nothing to be found.
#[test]
fn a_dropped_call_that_is_half_done() {
    let settings = (0..ROUNDS).map(Settings::one_round);
    let mut violations = settings
        .flat_map(|settings| model::check_dropped_calls(&HalvedHarness, settings).violations);
    let violation = violations.next().expect("found");
    assert_eq!(violation.anomalies, [Anomaly::UnlikeTheModel]);
    assert!(violation.shown.contains(", dropped "), "{violation}");
    assert!(violation.shown.contains("increment("), "{violation}");
}
