//! A store in a file, which is flushed for each write, or not: then a kill takes what was acknowledged.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Key,
    ManualClock, Metadata, MetadataUpdate, NewRecord, QueryOptions, Record, RecordStream, Result,
    Timestamp,
};
use store_mem::MemStore;
use storetest::torture::kills::{self, KillHarness, Stores};
use storetest::torture::{Anomaly, Settings, Tally};
use storetest::{Fixture, Harness};

/// The store in memory, and a line for each write.
#[derive(Debug)]
struct Logged {
    store: MemStore,
    log: Mutex<BufWriter<File>>,
    flushes: bool,
}

impl Logged {
    async fn open(folder: &Path, flushes: bool) -> Self {
        let path = folder.join("log");
        let store = MemStore::new();
        let written = fs::read(&path).unwrap_or_default();
        // The last line may be half there, and what is in it look like a whole one.
        let whole = written.iter().rposition(|byte| *byte == b'\n');
        let whole = &written[..whole.map_or(0, |end| end + 1)];
        for line in str::from_utf8(whole).unwrap().lines() {
            let [kind, first, second, third] = *line.split(' ').collect::<Vec<_>>() else {
                panic!("no line of ours: {line:?}");
            };
            match kind {
                "claim" => {
                    let key = ChangeKey::new(first, second, third).unwrap();
                    let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
                    let _ = store.create(claim).await.unwrap();
                }
                "put" => {
                    let key = Key::new(first, second).unwrap();
                    let record = NewRecord::new(key, third.to_owned()).unwrap();
                    store.put(record, Condition::None).await.unwrap();
                }
                _ => {
                    let key = Key::new(first, second).unwrap();
                    store.increment(&key, 1, None).await.unwrap();
                }
            }
        }
        let log = OpenOptions::new().append(true).create(true).open(&path);
        let log = log.unwrap();
        log.set_len(whole.len() as u64).unwrap();
        Self {
            store,
            log: Mutex::new(BufWriter::new(log)),
            flushes,
        }
    }

    fn log(&self, kind: &str, first: &str, second: &str, third: &str) {
        let mut log = self.log.lock().unwrap();
        writeln!(log, "{kind} {first} {second} {third}").unwrap();
        if self.flushes {
            log.flush().unwrap();
        }
    }
}

#[async_trait]
impl DocumentStore for Logged {
    async fn get(&self, key: &Key) -> Result<Record> {
        self.store.get(key).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let put = self.store.put(record, condition).await?;
        let data = String::from_utf8_lossy(&put.data);
        self.log("put", put.key.pk(), put.key.sk(), &data);
        Ok(put)
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        self.store.delete(key, condition).await
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        self.store.query(pk, sk_prefix, options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let value = self.store.increment(key, delta, expire_at).await?;
        if delta != 0 {
            self.log("count", key.pk(), key.sk(), "1");
        }
        Ok(value)
    }
}

#[async_trait]
impl ChangeStore for Logged {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        let key = record.key.clone();
        let created = self.store.create(record).await?;
        self.log("claim", key.queue(), key.uri(), key.request_id());
        Ok(created)
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        self.store.get_by_uri(queue, uri).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        self.store.update_metadata(key, update).await
    }
}

#[derive(Debug)]
struct LoggedHarness {
    flushes: bool,
}

#[async_trait]
impl Harness for LoggedHarness {
    fn backend(&self) -> &'static str {
        "logged"
    }

    async fn engine(&self) -> String {
        "store-mem with a log".to_owned()
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(Arc::new(MemStore::with_clock(clock.clone())), clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        Fixture::new(Arc::new(MemStore::with_clock(clock.clone())), clock)
    }
}

#[async_trait]
impl KillHarness for LoggedHarness {
    async fn open_in(&self, folder: &Path) -> Stores {
        Stores::of(Arc::new(Logged::open(folder, self.flushes).await))
    }
}

fn check(flushes: bool, seed: u64, test: &str) -> Tally {
    let test = format!("{}::{test}", module_path!());
    kills::check(&LoggedHarness { flushes }, Settings::one_round(seed), &test)
}

/// A kill that comes before the first acknowledgement takes nothing, so there are several.
const KILLS: u64 = 20;

#[test]
fn an_acknowledged_write_that_is_only_buffered() {
    let is_found = |seed| {
        let tally = check(false, seed, "an_acknowledged_write_that_is_only_buffered");
        let violations = tally.violations.iter();
        let mut found = violations.flat_map(|violation| &violation.anomalies);
        found.any(|anomaly| *anomaly == Anomaly::SwallowedFailure)
    };
    assert!((0..KILLS).any(is_found));
}

#[test]
fn what_is_flushed_survives() {
    let tally = check(true, 7, "what_is_flushed_survives");
    assert!(tally.violations.is_empty(), "{}", tally.violations[0]);
    assert!(tally.operations > 0 && tally.crashes == 1);
}
