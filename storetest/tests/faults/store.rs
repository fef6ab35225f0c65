//! A store in memory that makes one mistake, or none.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use changestore_core::{
    ChangeKey, ChangeRecord, Clock, Error, ErrorKind, Key, ManualClock, Record, SystemClock,
    Timestamp,
};
use store_mem::MemStore;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::table::Fault;

/// More than a case has calls under way, and fewer than it drops.
const CONNECTIONS: usize = 32;

/// Both contracts on the reference backend, spoilt.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: MemStore,
    pub(crate) clock: ManualClock,
    fault: Option<Fault>,
    connections: Arc<Semaphore>,
    memory: Mutex<Memory>,
}

/// What the mistakes need to know and the store does not tell.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The claims' keys as the caller has them, by the spoilt ones.
    pub(crate) claims: BTreeMap<ChangeKey, ChangeKey>,
    /// What `get_by_uri` returned first.
    pub(crate) stale_claims: HashMap<(String, String), Vec<ChangeRecord>>,
    /// What was put last and not deleted, expired or not.
    pub(crate) records: BTreeMap<Key, Record>,
    /// What `get` returned first.
    pub(crate) stale_records: HashMap<Key, Record>,
    /// Values and expiries, expired or not.
    pub(crate) counters: BTreeMap<Key, (i64, Option<Timestamp>)>,
    /// The last versions, deleted records' included.
    pub(crate) versions: HashMap<Key, u64>,
}

impl Memory {
    /// The record at the key, if it was put and has expired.
    pub(crate) fn expired(&self, key: &Key, now: Timestamp) -> Option<Record> {
        let record = self.records.get(key)?;
        let expired = record.expire_at.is_some_and(|at| at.is_expired_at(now));
        expired.then(|| record.clone())
    }
}

/// A clock that is one millisecond late: `expire_at < now` instead of `<=`.
#[derive(Debug)]
struct Late(ManualClock);

impl Clock for Late {
    fn now(&self) -> Timestamp {
        let millisecond = std::time::Duration::from_millis(1);
        self.0.now().saturating_sub(millisecond)
    }
}

impl Faulty {
    pub(crate) fn new(clock: ManualClock, fault: Option<Fault>) -> Self {
        let inner = match fault {
            Some(Fault::ExpiryIsOffByOne) => MemStore::with_clock(Late(clock.clone())),
            Some(Fault::ServersClockDecides) => MemStore::with_clock(SystemClock),
            _ => MemStore::with_clock(clock.clone()),
        };
        Self {
            inner,
            clock,
            fault,
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
            memory: Mutex::default(),
        }
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub(crate) fn has_none(&self) -> bool {
        self.fault.is_none()
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no panic while it is locked")
    }

    /// A free connection. With none left the store is unavailable.
    pub(crate) fn connection(&self) -> Result<OwnedSemaphorePermit, Error> {
        let free = Arc::clone(&self.connections).try_acquire_owned();
        free.map_err(|_| Error::new(ErrorKind::Unavailable))
    }

    /// What every call does first: it is sent, and dropped futures may leave something behind.
    pub(crate) async fn send(&self) -> Result<(), Error> {
        if self.has(Fault::DroppedCallsLeakConnections) {
            // Lost for good, unless the call goes on and brings it back.
            self.connection()?.forget();
            pause().await;
            self.connections.add_permits(1);
        }
        if self.has(Fault::StreamsHoldConnections) {
            drop(self.connection()?);
        }
        Ok(())
    }

    /// What every failure loses on its way out.
    pub(crate) fn spoilt(&self, error: Error, payload: &[u8]) -> Error {
        if self.has(Fault::ErrorsPrintThePayload) {
            let row = String::from_utf8_lossy(payload).into_owned();
            return error.with_message(format!("failing row: {row}"));
        }
        let nameless = self.has(Fault::ErrorsNameNoBackend);
        let keyless = self.has(Fault::ErrorsNameNoKey);
        if !nameless && !keyless {
            return error;
        }
        let mut spoilt = Error::new(error.kind().clone());
        if let Some(operation) = error.operation() {
            spoilt = spoilt.with_operation(operation);
        }
        if let (Some(key), false) = (error.key(), keyless) {
            spoilt = spoilt.with_key(key);
        }
        if let (Some(backend), false) = (error.backend(), nameless) {
            spoilt = spoilt.with_backend(backend);
        }
        spoilt
    }
}

/// Lets every other task come in between, or the future be dropped.
pub(crate) async fn pause() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// The text cut to at most so many bytes.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
