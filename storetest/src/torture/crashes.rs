//! Servers that are killed in the middle of a history, and come back on what they had stored.
//!
//! Clients work as in any history; at some call the server is killed (`SIGKILL`) and started again, while the clients
//! go on. What was acknowledged before must be there afterwards, what was refused must not, and the store must find its
//! way back by itself.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Key,
    ManualClock, MetadataUpdate, NewRecord, QueryOptions, Record, RecordStream, Result, Timestamp,
};
use fastrand::Rng;
use tokio::task::block_in_place;

use super::history::{self, Shape};
use super::rounds::{Opened, rounds};
use super::{Settings, Tally};
use crate::{Fixture, Harness};

/// Calls of unknown outcome are many more possible orders; at a crash each client has one.
const CREW: Shape = Shape {
    clients: 8,
    calls: 24,
    may_fail: true,
};

/// A backend whose server keeps what it stores.
#[async_trait]
pub trait CrashHarness: Harness {
    /// Starts a server of the test's own.
    async fn start(&self) -> Arc<dyn Crash>;
}

/// A server that can be killed.
#[async_trait]
pub trait Crash: Send + Sync + 'static {
    /// As [`Harness::changes`], on this server.
    async fn changes(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore>;

    /// As [`Harness::documents`], on this server.
    async fn documents(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore>;

    /// Kills the server, which gets no chance to put anything right, and starts it again on the same data and at the
    /// same address. Returns when it answers; may block.
    fn crash(&self);
}

/// A store on a server that is killed.
struct Site<S: ?Sized> {
    fixture: Fixture<S>,
    server: Arc<dyn Crash>,
}

impl<S: ?Sized> Opened for Site<S> {
    /// The server goes, and all that was stored goes with it.
    async fn clean_up(&mut self) {}
}

/// Histories of records and counters, with a crash in each.
pub fn check_documents(harness: &dyn CrashHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| {
            let server = harness.start().await;
            Site {
                fixture: server.documents(namespace, clock).await,
                server,
            }
        },
        async |site, seed| {
            let store = site.fixture.store.clone();
            let wire = Arc::new(Tripwire::new(store, &site.server, seed));
            let clock = site.fixture.clock.clone();
            let mended = || wire.wait();
            let store = Arc::clone(&wire) as Arc<dyn DocumentStore>;
            crashed(history::documents::history(store, clock, seed, CREW, mended).await)
        },
    )
}

/// Histories of claims, with a crash in each.
pub fn check_claims(harness: &dyn CrashHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| {
            let server = harness.start().await;
            Site {
                fixture: server.changes(namespace, clock).await,
                server,
            }
        },
        async |site, seed| {
            let store = site.fixture.store.clone();
            let wire = Arc::new(Tripwire::new(store, &site.server, seed));
            let clock = site.fixture.clock.clone();
            let mended = || wire.wait();
            let store = Arc::clone(&wire) as Arc<dyn ChangeStore>;
            crashed(history::claims::history(store, clock, seed, CREW, mended).await)
        },
    )
}

fn crashed(mut tally: Tally) -> Tally {
    tally.crashes = 1;
    tally
}

/// The store, whose server crashes with one of its calls.
struct Tripwire<S: ?Sized> {
    store: Arc<S>,
    server: Arc<dyn Crash>,
    /// The calls until then.
    left: AtomicUsize,
    crashing: Mutex<Option<JoinHandle<()>>>,
}

impl<S: ?Sized> fmt::Debug for Tripwire<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tripwire")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<S: ?Sized> Tripwire<S> {
    fn new(store: Arc<S>, server: &Arc<dyn Crash>, seed: u64) -> Self {
        let first_half = CREW.clients * CREW.calls / 2;
        Self {
            store,
            server: Arc::clone(server),
            left: AtomicUsize::new(Rng::with_seed(seed).usize(1..first_half)),
            crashing: Mutex::default(),
        }
    }

    /// The store, for one call.
    fn called(&self) -> &S {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let server = Arc::clone(&self.server);
            let crashing = thread::spawn(move || server.crash());
            *self.crashing.lock().unwrap_or_else(PoisonError::into_inner) = Some(crashing);
        }
        &self.store
    }

    /// Waits until the server is there again.
    fn wait(&self) {
        let mut crashing = self.crashing.lock().unwrap_or_else(PoisonError::into_inner);
        let crashing = crashing.take().expect("more calls were made than it takes");
        block_in_place(|| crashing.join()).unwrap_or_else(|panic| resume_unwind(panic));
    }
}

#[async_trait]
impl DocumentStore for Tripwire<dyn DocumentStore> {
    async fn get(&self, key: &Key) -> Result<Record> {
        self.called().get(key).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        self.called().put(record, condition).await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        self.called().delete(key, condition).await
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        self.called().query(pk, sk_prefix, options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        self.called().increment(key, delta, expire_at).await
    }
}

#[async_trait]
impl ChangeStore for Tripwire<dyn ChangeStore> {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        self.called().create(record).await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        self.called().get_by_uri(queue, uri).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        self.called().update_metadata(key, update).await
    }
}
