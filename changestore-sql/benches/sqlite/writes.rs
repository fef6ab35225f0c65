//! Claims per second at synchronous FULL.

use std::cell::Cell;
use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use changestore_core::{ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Metadata, Timestamp};
use changestore_sql::SqliteStore;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::rounds::{Contender, compare};

/// Many short ones: the disk is the busiest part of a shared machine.
const ROUNDS: usize = 51;

const INSERT: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, version, created_at, updated_at, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (queue, uri, request_id) DO NOTHING";

/// In which order the keys come.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// As a merge queue sees them: pull requests are numbered one after the other.
    Ascending,
    /// Each on a page of its own, as with hashes in front: every commit writes all those pages.
    Scattered,
}

/// A new claim for every number.
fn claim(order: Order, number: u32) -> ChangeRecord {
    let pull = match order {
        Order::Ascending => number,
        Order::Scattered => number.wrapping_mul(2_654_435_761),
    };
    let key = ChangeKey::new(
        "bench",
        format!("github://github.com/o/r/pull/{pull:010}/3f1c9a"),
        format!("bench/{number}"),
    );
    let metadata = Metadata::new(r#"{"author":"somebody","files":3}"#).expect("JSON");
    let now = Timestamp::from_millis(1_795_996_800_000).expect("in range");
    ChangeRecord::new(key.expect("a key"), metadata, now)
}

/// The plain way: every statement through a pool, each its own commit, as durable as the store's.
async fn open_pool(path: &Path) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_mins(1));
    let pool = SqlitePoolOptions::new().acquire_timeout(Duration::from_mins(2));
    pool.connect_with(options).await.expect("a pool")
}

async fn insert(pool: &SqlitePool, claim: &ChangeRecord) {
    let result = sqlx::query(INSERT)
        .bind(claim.key.queue())
        .bind(claim.key.uri())
        .bind(claim.key.request_id())
        .bind(claim.version.as_i64())
        .bind(claim.created_at.as_millis())
        .bind(claim.updated_at.as_millis())
        .bind(claim.metadata.as_str())
        .execute(pool)
        .await
        .expect("inserted");
    assert_eq!(result.rows_affected(), 1);
}

pub fn claims(runtime: &Runtime, folder: &Path) {
    let (ours, theirs) = (folder.join("store.db"), folder.join("plain.db"));
    let open = async |path: &Path| SqliteStore::open(path.to_str().expect("UTF-8")).await;
    let store = runtime.block_on(open(&ours)).expect("a store");
    // The same schema in a file of its own.
    runtime.block_on(async { open(&theirs).await.expect("a store").close().await });
    let pool = runtime.block_on(open_pool(&theirs));
    let next = Cell::new(0);
    let numbers = |count: u32| {
        let first = next.replace(next.get() + count);
        first..first + count
    };
    for (tasks, each, order) in [
        (1, 40, Order::Ascending),
        (64, 6, Order::Ascending),
        (64, 6, Order::Scattered),
    ] {
        let (pool, store) = (pool.clone(), store.clone());
        compare(
            &format!("create, {tasks} at a time, synchronous FULL, keys {order:?}"),
            ROUNDS,
            vec![
                Contender::new("sqlx pool, one commit each", || {
                    let pool = pool.clone();
                    let work = move |number| {
                        let pool = pool.clone();
                        async move { insert(&pool, &claim(order, number)).await }
                    };
                    runtime.block_on(spread(tasks, numbers(tasks * each), work))
                }),
                Contender::new("store", || {
                    let store = store.clone();
                    let work = move |number| {
                        let store = store.clone();
                        async move {
                            let outcome =
                                store.create(claim(order, number)).await.expect("created");
                            assert_eq!(outcome, CreateOutcome::Created);
                        }
                    };
                    runtime.block_on(spread(tasks, numbers(tasks * each), work))
                }),
            ],
        );
    }
    runtime.block_on(store.close());
}

/// Does the work for each number, one after another in each of so many tasks.
async fn spread<F, W>(tasks: u32, numbers: Range<u32>, work: F) -> u32
where
    F: Fn(u32) -> W + Clone + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let mut set = JoinSet::new();
    let count = numbers.len();
    for task in 0..tasks {
        let (work, numbers) = (work.clone(), numbers.clone());
        set.spawn(async move {
            for number in numbers.skip(task as usize).step_by(tasks as usize) {
                work(number).await;
            }
        });
    }
    set.join_all().await;
    u32::try_from(count).expect("as many as the numbers")
}
