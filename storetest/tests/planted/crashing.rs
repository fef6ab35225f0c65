//! A server that acknowledges before it has stored, and is killed in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, ChangeStoreExt as _, Condition, CreateOutcome,
    DocumentStore, DocumentStoreExt as _, Etag, Key, ManualClock, MetadataUpdate, NewRecord,
    QueryOptions, Record, RecordStream, Result, Timestamp, Version,
};
use store_mem::MemStore;
use storetest::torture::crashes::{self, Crash, CrashHarness};
use storetest::torture::{Anomaly, Settings, Tally};
use storetest::{Fixture, Harness};

use crate::ROUNDS;

/// The store in memory, whose last acknowledged writes before a crash are gone.
#[derive(Debug, Clone)]
struct Hasty {
    store: MemStore,
    /// So many writes are still acknowledged and never stored.
    lost: Arc<AtomicUsize>,
}

impl Hasty {
    fn loses(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.lost
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
    }
}

#[async_trait]
impl DocumentStore for Hasty {
    async fn get(&self, key: &Key) -> Result<Record> {
        self.store.get(key).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let live = self.store.find(record.key()).await?;
        let condition = condition.normalized();
        let holds = condition.holds(live.as_ref().map(|live| (live.version, &live.etag)));
        if holds && self.loses() {
            let version = live.map_or(Version::FIRST, |live| live.version.next());
            return Ok(record.into_record(version, Etag::unique()));
        }
        self.store.put(record, condition).await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        self.store.delete(key, condition).await
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        self.store.query(pk, sk_prefix, options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        self.store.increment(key, delta, expire_at).await
    }
}

#[async_trait]
impl ChangeStore for Hasty {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        self.store.create(record).await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        self.store.get_by_uri(queue, uri).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        let stored = self.store.find_claim(key).await?;
        let holds = stored.is_some_and(|claim| claim.version == update.old_version);
        if holds && self.loses() {
            return Ok(());
        }
        self.store.update_metadata(key, update).await
    }
}

/// How many acknowledged writes a crash loses.
#[derive(Debug)]
struct HastyHarness(usize);

#[async_trait]
impl Harness for HastyHarness {
    fn backend(&self) -> &'static str {
        "hasty"
    }

    async fn engine(&self) -> String {
        "store-mem, acknowledged before it is stored".to_owned()
    }

    async fn changes(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        self.start().await.changes(namespace, clock).await
    }

    async fn documents(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        self.start().await.documents(namespace, clock).await
    }
}

#[async_trait]
impl CrashHarness for HastyHarness {
    async fn start(&self) -> Arc<dyn Crash> {
        Arc::new(Machine {
            loses: self.0,
            lost: Arc::default(),
        })
    }
}

struct Machine {
    loses: usize,
    lost: Arc<AtomicUsize>,
}

impl Machine {
    fn store(&self, clock: &ManualClock) -> Hasty {
        Hasty {
            store: MemStore::with_clock(clock.clone()),
            lost: Arc::clone(&self.lost),
        }
    }
}

#[async_trait]
impl Crash for Machine {
    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(Arc::new(self.store(&clock)), clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        Fixture::new(Arc::new(self.store(&clock)), clock)
    }

    fn crash(&self) {
        self.lost.store(self.loses, Ordering::SeqCst);
    }
}

#[test]
fn an_acknowledged_write_that_a_crash_loses() {
    let checks: [fn(&dyn CrashHarness, Settings) -> Tally; 2] =
        [crashes::check_documents, crashes::check_claims];
    for check in checks {
        let harness = HastyHarness(2);
        let found = (0..ROUNDS).any(|seed| {
            let tally = check(&harness, Settings::one_round(seed));
            let violations = tally.violations.iter();
            violations
                .flat_map(|violation| &violation.anomalies)
                .any(|anomaly| *anomaly == Anomaly::SwallowedFailure)
        });
        assert!(found, "it is not found");
    }
}

#[test]
fn without_a_loss_nothing_is_found() {
    let harness = HastyHarness(0);
    for seed in 0..10 {
        let settings = Settings::one_round(seed);
        for tally in [
            crashes::check_documents(&harness, settings),
            crashes::check_claims(&harness, settings),
        ] {
            assert!(tally.violations.is_empty(), "{}", tally.violations[0]);
            assert_eq!(tally.crashes, 1);
        }
    }
}
