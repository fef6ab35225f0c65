//! What the store costs beside the same calls of the stubs made directly, and how many requests it makes.
//!
//! `cargo bench -p changestore-bigtable [OPERATION...]`
//!
//! The server is the emulator of `CHANGESTORE_BIGTABLE_URL`, or one that is started for it. Rounds are short and in turns,
//! so that what else the machine does meets both alike. Requests are counted by a proxy, in rounds of their own.

mod direct;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use changestore_bigtable::BigtableStore;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Key, Metadata,
    NewRecord, Timestamp,
};
use direct::Direct;
use support::proxy::Proxy;
use tokio::runtime::Runtime;

const ROUND: Duration = Duration::from_millis(100);
const ROUNDS: usize = 41;
/// So many records are read.
const RECORDS: usize = 1_000;
const DATA: [u8; 256] = [b'x'; 256];
/// The connections of both.
const CHANNELS: usize = 4;
/// So many operations are counted.
const COUNTED: usize = 640;

#[derive(Debug, Clone, Copy)]
enum Operation {
    Create,
    GetByUri,
    Get,
    PutIfAbsent,
    Put,
    Increment,
}

use Operation::{Create, Get, GetByUri, Increment, Put, PutIfAbsent};

const OPERATIONS: [(&str, Operation); 6] = [
    ("create", Create),
    ("get_by_uri", GetByUri),
    ("get", Get),
    ("put, if absent", PutIfAbsent),
    ("put", Put),
    ("increment", Increment),
];

/// Who does it: the store, or the stubs.
#[derive(Clone)]
enum Contender {
    Direct(Arc<Direct>),
    Store(BigtableStore),
}

impl Contender {
    async fn run(&self, operation: Operation, number: usize) {
        match self {
            Self::Direct(stubs) => stubs.run(operation, number).await,
            Self::Store(store) => stored(store, operation, number).await,
        }
    }
}

fn nth(number: usize) -> String {
    format!("{:08}", number % RECORDS)
}

async fn stored(store: &BigtableStore, operation: Operation, number: usize) {
    let key = |sk: String| Key::new("store", sk).expect("a key");
    let record = |sk: String| NewRecord::new(key(sk), &DATA[..]).expect("a record");
    match operation {
        Create => {
            let key = ChangeKey::new("store", format!("uri{number}"), "request").expect("a key");
            let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
            let outcome = store.create(claim).await.expect("a claim");
            assert_eq!(outcome, CreateOutcome::Created);
        }
        GetByUri => {
            let found = store.get_by_uri("shared", &nth(number)).await;
            assert_eq!(found.expect("claims").len(), 1);
        }
        Get => {
            let key = Key::new("shared", nth(number)).expect("a key");
            store.get(&key).await.expect("a record");
        }
        PutIfAbsent => {
            let record = record(format!("new{number}"));
            store.put(record, Condition::IfAbsent).await.expect("a put");
        }
        Put => {
            let record = record(nth(number));
            store.put(record, Condition::None).await.expect("a put");
        }
        Increment => {
            let key = Key::new("shared", format!("counter{}", number % RECORDS)).expect("a key");
            store.increment(&key, 1, None).await.expect("a number");
        }
    }
}

fn main() {
    // Ends with the benchmark.
    let mut own_server = None;
    let address = env::var("CHANGESTORE_BIGTABLE_URL").unwrap_or_else(|_| {
        let server = engines::bigtable::start().expect("a server");
        println!("{}", server.version());
        own_server.insert(server).url()
    });
    let runtime = Runtime::new().expect("a runtime");
    let _within = runtime.enter();
    let table = support::new_table();
    let store = |address: &str| {
        support::builder(address, &table)
            .with_channels(CHANNELS)
            .connect()
            .expect("a store")
    };
    let contenders = [
        Contender::Direct(Arc::new(Direct::new(&address, &table, CHANNELS))),
        Contender::Store(store(&address)),
    ];
    runtime.block_on(fill(&store(&address)));
    let proxy = runtime.block_on(Proxy::before(&address));
    let counted = Contender::Store(store(proxy.address()));
    println!(
        "\n| | tasks | stubs, per second | store, per second | ratio | requests per operation |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let wanted: Vec<_> = env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    for (name, operation) in OPERATIONS {
        if !wanted.is_empty() && !wanted.iter().any(|word| name == word) {
            continue;
        }
        for tasks in [1, 32] {
            let measured = measure(&runtime, &contenders, operation, tasks);
            proxy.seen();
            runtime.block_on(all(&counted, operation, tasks, move |done| {
                done < COUNTED / tasks
            }));
            let requests = number(proxy.seen().len()) / number(COUNTED / tasks * tasks);
            println!(
                "| `{name}` | {tasks} | {:.0} | {:.0} | {:.2} | {requests:.2} |",
                measured.stubs, measured.store, measured.ratio
            );
        }
    }
}

async fn fill(store: &BigtableStore) {
    store.create_table().await.expect("a table");
    for number in 0..RECORDS {
        let key = Key::new("shared", nth(number)).expect("a key");
        let record = NewRecord::new(key, &DATA[..]).expect("a record");
        store.put(record, Condition::IfAbsent).await.expect("a put");
        let key = ChangeKey::new("shared", nth(number), "request").expect("a key");
        let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
        let outcome = store.create(claim).await.expect("a claim");
        assert_eq!(outcome, CreateOutcome::Created);
        // Begun, as counters are once in their life.
        let key = Key::new("shared", format!("counter{number}")).expect("a key");
        store.increment(&key, 0, None).await.expect("a counter");
    }
}

/// Does the operation in so many tasks, each as long as it is told to; how often it was done.
async fn all(
    contender: &Contender,
    operation: Operation,
    tasks: usize,
    goes_on: impl Fn(usize) -> bool + Copy + Send + 'static,
) -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(0);
    let running: Vec<_> = (0..tasks)
        .map(|_| {
            let contender = contender.clone();
            tokio::spawn(async move {
                let mut done = 0;
                while goes_on(done) {
                    // Each task at a key of its own.
                    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
                    contender.run(operation, number).await;
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for task in running {
        done += task.await.expect("a task");
    }
    done
}

/// Operations per second and their ratio, each the median of the rounds. What the machine does besides drifts from round to
/// round; the ratio is of two that follow each other.
struct Measured {
    stubs: f64,
    store: f64,
    ratio: f64,
}

fn measure(
    runtime: &Runtime,
    contenders: &[Contender; 2],
    operation: Operation,
    tasks: usize,
) -> Measured {
    let mut rates = [const { Vec::new() }; 2];
    for round in 0..=ROUNDS {
        for turn in 0..contenders.len() {
            // Each is first as often as the other.
            let place = (turn + round) % contenders.len();
            let begun = Instant::now();
            let in_time = move |_done| begun.elapsed() < ROUND;
            let done = runtime.block_on(all(&contenders[place], operation, tasks, in_time));
            // The first round opens connections.
            if round > 0 {
                rates[place].push(number(done) / begun.elapsed().as_secs_f64());
            }
        }
    }
    let [stubs, store] = rates;
    let ratios = stubs.iter().zip(&store).map(|(stubs, store)| store / stubs);
    Measured {
        ratio: median(ratios.collect()),
        stubs: median(stubs),
        store: median(store),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("few enough"))
}
