//! The store in memory at the other end of a TCP connection, whose client makes one mistake or none.
//!
//! What goes over the wire is only the number of a call; the call itself is in the memory that both ends share. So
//! there is no protocol to get wrong, and a fault of the wire is a fault all the same.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore,
    DocumentStoreExt as _, Error, ErrorKind, Key, ManualClock, MetadataUpdate, NewRecord, Outcome,
    QueryOptions, Record, RecordStream, Result, Timestamp,
};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use store_mem::MemStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What the client does wrong when a reply does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// It sends the call again.
    Resends,
    /// It says that nothing has happened.
    SaysNothingHappened,
    /// It uses the connection again.
    KeepsTheConnection,
    /// It waits.
    Waits,
    /// It says that all went well, as a buffer does that is lost before it is written.
    SaysDone,
}

type Outcomes = Box<dyn Any + Send>;
type Job = Arc<dyn Fn() -> BoxFuture<'static, Outcomes> + Send + Sync>;

/// The calls that are under way, and what came of them.
#[derive(Default)]
struct Calls {
    last: u64,
    jobs: HashMap<u64, Job>,
    outcomes: HashMap<u64, Outcomes>,
}

/// The server; it ends with the test's process.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    calls: Arc<Mutex<Calls>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            calls: Arc::default(),
        };
        let calls = Arc::clone(&server.calls);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, calls) = (stream.unwrap(), Arc::clone(&calls));
                thread::spawn(move || {
                    let mut call = [0; 8];
                    while stream.read_exact(&mut call).is_ok() {
                        let number = u64::from_be_bytes(call);
                        let job = Arc::clone(&calls.lock().unwrap().jobs[&number]);
                        let outcome = job().now_or_never().expect("memory does not wait");
                        calls.lock().unwrap().outcomes.insert(number, outcome);
                        if stream.write_all(&call).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        server
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.address)
    }
}

/// The client.
#[derive(Debug)]
pub(crate) struct Wired {
    pub(crate) store: MemStore,
    pub(crate) clock: ManualClock,
    pub(crate) server: Server,
    /// Where it connects to.
    pub(crate) address: SocketAddr,
    pub(crate) patience: Duration,
    pub(crate) mistake: Option<Mistake>,
    pub(crate) idle: Mutex<Vec<TcpStream>>,
}

impl Wired {
    async fn call<T, F>(
        &self,
        is_write: bool,
        work: impl Fn(MemStore) -> F + Send + Sync + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let store = self.store.clone();
        let work = Arc::new(work);
        let of_server = Arc::clone(&work);
        let job: Job = Arc::new(move || {
            of_server(store.clone())
                .map(|out| Box::new(out) as Outcomes)
                .boxed()
        });
        let number = {
            let mut calls = self.server.calls.lock().unwrap();
            calls.last += 1;
            let number = calls.last;
            calls.jobs.insert(number, job);
            number
        };
        let mut sent = self.send(number).await;
        if sent.is_err() && self.mistake == Some(Mistake::Resends) {
            sent = self.send(number).await;
        }
        if sent.is_err() && is_write && self.mistake == Some(Mistake::SaysDone) {
            return work(MemStore::with_clock(self.clock.clone())).await;
        }
        if sent.is_err() {
            let outcome = match self.mistake {
                Some(Mistake::SaysNothingHappened) => Outcome::NotApplied,
                _ if is_write => Outcome::Unknown,
                _ => Outcome::NotApplied,
            };
            return Err(Error::new(ErrorKind::Unavailable).with_outcome(outcome));
        }
        let outcome = self.server.calls.lock().unwrap().outcomes.remove(&number);
        let outcome = outcome.expect("it was answered").downcast::<Result<T>>();
        *outcome.expect("of its own type")
    }

    async fn send(&self, number: u64) -> std::io::Result<()> {
        let idle = self.idle.lock().unwrap().pop();
        let mut stream = match idle {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await?,
        };
        let patience = match self.mistake {
            Some(Mistake::Waits) => Duration::from_hours(1),
            _ => self.patience,
        };
        let answered = timeout(patience, async {
            stream.write_all(&number.to_be_bytes()).await?;
            let mut answer = [0; 8];
            stream.read_exact(&mut answer).await
        });
        let answered = answered.await.map_err(std::io::Error::from).flatten();
        if answered.is_ok() || self.mistake == Some(Mistake::KeepsTheConnection) {
            self.idle.lock().unwrap().push(stream);
        }
        answered.map(drop)
    }
}

#[async_trait]
impl DocumentStore for Wired {
    async fn get(&self, key: &Key) -> Result<Record> {
        let key = key.clone();
        self.call(false, move |store| {
            let key = key.clone();
            async move { store.get(&key).await }
        })
        .await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        self.call(true, move |store| {
            let (record, condition) = (record.clone(), condition.clone());
            async move { store.put(record, condition).await }
        })
        .await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let key = key.clone();
        self.call(true, move |store| {
            let (key, condition) = (key.clone(), condition.clone());
            async move { store.delete(&key, condition).await }
        })
        .await
    }

    /// Goes past the wire, which the others are enough for: the trait's streams outlive the call.
    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        let (store, pk, sk_prefix) = (self.store.clone(), pk.to_owned(), sk_prefix.to_owned());
        let all = async move { store.query_all(&pk, &sk_prefix, options).await };
        stream::once(all)
            .map_ok(|records| stream::iter(records).map(Ok))
            .try_flatten()
            .boxed()
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let key = key.clone();
        self.call(true, move |store| {
            let key = key.clone();
            async move { store.increment(&key, delta, expire_at).await }
        })
        .await
    }
}

#[async_trait]
impl ChangeStore for Wired {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        self.call(true, move |store| {
            let record = record.clone();
            async move { store.create(record).await }
        })
        .await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let (queue, uri) = (queue.to_owned(), uri.to_owned());
        self.call(false, move |store| {
            let (queue, uri) = (queue.clone(), uri.clone());
            async move { store.get_by_uri(&queue, &uri).await }
        })
        .await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        let key = key.clone();
        self.call(true, move |store| {
            let (key, update) = (key.clone(), update.clone());
            async move { store.update_metadata(&key, update).await }
        })
        .await
    }
}
