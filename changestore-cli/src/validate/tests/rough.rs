//! A store in memory that stalls and crashes on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Error,
    ErrorKind, Key, MetadataUpdate, NewRecord, Outcome, QueryOptions, Record, RecordStream, Result,
    Timestamp,
};
use store_mem::MemStore;

/// What happens to the write at which the process dies, and so to none after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastWrite {
    /// It is not done.
    Lost,
    /// It is done, but nobody hears of it.
    Done,
}

#[derive(Debug, Clone)]
pub(super) struct RoughStore {
    pub(super) inner: MemStore,
    rough: Arc<Rough>,
}

#[derive(Debug)]
struct Rough {
    /// So many more writes are done before the crash.
    writes_left: AtomicUsize,
    last: LastWrite,
    /// The state of the stalls' random numbers; 0 where nothing stalls.
    stalls: AtomicU64,
}

impl RoughStore {
    pub(super) fn smooth(inner: MemStore) -> Self {
        Self::new(inner, usize::MAX, LastWrite::Lost, 0)
    }

    /// Does so many writes and dies at the next.
    pub(super) fn crashing(inner: MemStore, writes: usize, last: LastWrite) -> Self {
        Self::new(inner, writes, last, 0)
    }

    /// Lets other tasks go first before each operation, as often as chance has it.
    pub(super) fn stalling(inner: MemStore, seed: u64) -> Self {
        Self::new(inner, usize::MAX, LastWrite::Lost, seed | 1)
    }

    fn new(inner: MemStore, writes: usize, last: LastWrite, stalls: u64) -> Self {
        let rough = Rough {
            writes_left: AtomicUsize::new(writes),
            last,
            stalls: AtomicU64::new(stalls),
        };
        let rough = Arc::new(rough);
        Self { inner, rough }
    }

    async fn stall(&self) {
        let state = self.rough.stalls.load(Ordering::Relaxed);
        // A linear congruential generator; its upper bits are the random ones.
        let next = state.wrapping_mul(6_364_136_223_846_793_005);
        self.rough.stalls.store(next, Ordering::Relaxed);
        for _ in 0..next >> 61 {
            tokio::task::yield_now().await;
        }
    }

    async fn write<T>(&self, write: impl Future<Output = Result<T>>) -> Result<T> {
        self.stall().await;
        let left = &self.rough.writes_left;
        let less_one = |left: usize| left.checked_sub(1);
        match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one) {
            Ok(1) if self.rough.last == LastWrite::Done => {
                let _ = write.await;
                Err(dead())
            }
            Ok(1) | Err(_) => Err(dead()),
            Ok(_) => write.await,
        }
    }

    /// Whether the crash has come.
    pub(super) fn is_dead(&self) -> bool {
        self.rough.writes_left.load(Ordering::Relaxed) == 0
    }
}

fn dead() -> Error {
    Error::new(ErrorKind::Unavailable).with_outcome(Outcome::Unknown)
}

#[async_trait]
impl ChangeStore for RoughStore {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        self.write(self.inner.create(record)).await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        self.stall().await;
        self.inner.get_by_uri(queue, uri).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        self.write(self.inner.update_metadata(key, update)).await
    }
}

#[async_trait]
impl DocumentStore for RoughStore {
    async fn get(&self, key: &Key) -> Result<Record> {
        self.stall().await;
        self.inner.get(key).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        self.write(self.inner.put(record, condition)).await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        self.write(self.inner.delete(key, condition)).await
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        self.inner.query(pk, sk_prefix, options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire: Option<Timestamp>) -> Result<i64> {
        self.write(self.inner.increment(key, delta, expire)).await
    }
}
