//! Reads among a million claims and a million records.

use std::path::Path;
use std::sync::Arc;

use changestore_core::{ChangeStore, DocumentStore, Key, QueryOptions};
use changestore_sql::SqliteStore;
use futures::TryStreamExt as _;
use rusqlite::params;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, Row as _, SqlitePool};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::rounds::{Contender, compare};

const RECORDS: u32 = 1_000_000;
/// Records of one partition.
const PARTITION: u32 = 1_000;
const ROUNDS: usize = 41;
/// Reads of one round.
const READS: u32 = 400;

const GET_BY_URI: &str = "\
SELECT request_id, version, created_at, updated_at, metadata
FROM changestore_claims
WHERE queue = ? AND uri = ?
ORDER BY request_id";

const GET: &str = "\
SELECT version, etag, expire_at, data
FROM changestore_documents
WHERE pk = ? AND sk = ? AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)";

const QUERY: &str = "\
SELECT sk, version, etag, expire_at, data
FROM changestore_documents
WHERE pk = ? AND sk > ? AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)
ORDER BY sk
LIMIT 50";

const NOW: i64 = 1_795_996_800_000;

/// One file, and every way to it.
pub struct Million<'a> {
    runtime: &'a Runtime,
    store: SqliteStore,
    pool: SqlitePool,
    pool_without_ping: SqlitePool,
    held: Arc<Mutex<SqliteConnection>>,
    direct: rusqlite::Connection,
}

fn uri(number: u32) -> String {
    format!("github://github.com/o/r/pull/{number}/3f1c9a")
}

fn pk(number: u32) -> String {
    format!("JOB#{:04}", number / PARTITION)
}

fn sk(number: u32) -> String {
    format!("ITEM#{:04}", number % PARTITION)
}

/// Scattered over everything.
fn places() -> impl Iterator<Item = u32> {
    (1..=READS).map(|step| step.wrapping_mul(2_654_435_761) % RECORDS)
}

impl<'a> Million<'a> {
    pub fn new(runtime: &'a Runtime, folder: &Path) -> Self {
        let path = folder.join("million.db");
        let url = path.to_str().expect("UTF-8");
        let store = runtime.block_on(SqliteStore::open(url)).expect("a store");
        let direct = rusqlite::Connection::open(&path).expect("a connection");
        fill(&direct);
        let options = SqliteConnectOptions::new().filename(&path);
        let pool = |ping| {
            let pool = SqlitePoolOptions::new().test_before_acquire(ping);
            runtime
                .block_on(pool.connect_with(options.clone()))
                .expect("a pool")
        };
        let connection = runtime.block_on(options.connect()).expect("a connection");
        Self {
            runtime,
            store,
            pool: pool(true),
            pool_without_ping: pool(false),
            held: Arc::new(Mutex::new(connection)),
            direct,
        }
    }

    pub fn get_by_uri(&self) {
        let through_pool = |pool: &SqlitePool| {
            let pool = pool.clone();
            self.on_a_worker(async move {
                for place in places() {
                    let rows = sqlx::query(GET_BY_URI).bind("main").bind(uri(place));
                    let rows = rows.fetch_all(&pool).await.expect("rows");
                    assert_eq!(rows.len(), 1);
                    let _metadata: String = rows[0].get(4);
                }
            })
        };
        let store = || {
            let store = self.store.clone();
            self.on_a_worker(async move {
                for place in places() {
                    let claims = store.get_by_uri("main", &uri(place)).await.expect("claims");
                    assert_eq!(claims.len(), 1);
                }
            })
        };
        let direct = || {
            for place in places() {
                let mut statement = self.direct.prepare_cached(GET_BY_URI).expect("a statement");
                let rows =
                    statement.query_map(params!["main", uri(place)], |row| row.get::<_, String>(4));
                assert_eq!(rows.expect("rows").count(), 1);
            }
            READS
        };
        compare(
            "get_by_uri, a million claims, one at a time",
            ROUNDS,
            vec![
                Contender::new("sqlx pool, plain statement", || through_pool(&self.pool)),
                Contender::new("sqlx pool without ping", || {
                    through_pool(&self.pool_without_ping)
                }),
                Contender::new("store", store),
                Contender::new("rusqlite on the calling thread", direct),
            ],
        );
    }

    pub fn get(&self) {
        let statement = |place| {
            let get = sqlx::query(GET).bind(pk(place)).bind(sk(place));
            get.bind(NOW)
        };
        let through_pool = |pool: &SqlitePool| {
            let pool = pool.clone();
            self.on_a_worker(async move {
                for place in places() {
                    let row = statement(place).fetch_one(&pool).await.expect("a row");
                    let _data: Vec<u8> = row.get(3);
                }
            })
        };
        let held = || {
            let held = Arc::clone(&self.held);
            self.on_a_worker(async move {
                let mut connection = held.lock().await;
                for place in places() {
                    let row = statement(place).fetch_optional(&mut *connection).await;
                    let _data: Vec<u8> = row.expect("no error").expect("a row").get(3);
                }
            })
        };
        let store = || {
            let store = self.store.clone();
            self.on_a_worker(async move {
                for place in places() {
                    let key = Key::new(pk(place), sk(place)).expect("a key");
                    store.get(&key).await.expect("a record");
                }
            })
        };
        let direct = || {
            for place in places() {
                let mut statement = self.direct.prepare_cached(GET).expect("a statement");
                let data: Vec<u8> = statement
                    .query_row(params![pk(place), sk(place), NOW], |row| row.get(3))
                    .expect("a row");
                drop(data);
            }
            READS
        };
        compare(
            "get, a million records, one at a time",
            ROUNDS,
            vec![
                Contender::new("sqlx pool, plain statement", || through_pool(&self.pool)),
                Contender::new("sqlx pool without ping", || {
                    through_pool(&self.pool_without_ping)
                }),
                Contender::new("sqlx connection, held", held),
                Contender::new("store", store),
                Contender::new("rusqlite on the calling thread", direct),
            ],
        );
    }

    pub fn query(&self) {
        let pool = || {
            let pool = self.pool.clone();
            self.on_a_worker(async move {
                for place in places() {
                    let query = sqlx::query(QUERY)
                        .bind(pk(place))
                        .bind("ITEM#0300")
                        .bind(NOW);
                    let rows = query.fetch_all(&pool).await.expect("rows");
                    assert_eq!(rows.len(), 50);
                    for row in rows {
                        let _data: Vec<u8> = row.get(4);
                    }
                }
            })
        };
        let store = || {
            let store = self.store.clone();
            self.on_a_worker(async move {
                for place in places() {
                    let options = QueryOptions::default()
                        .with_limit(50)
                        .with_start_after("ITEM#0300");
                    let records = store.query(&pk(place), "ITEM#", options);
                    let records: Vec<_> = records.try_collect().await.expect("records");
                    assert_eq!(records.len(), 50);
                }
            })
        };
        let direct = || {
            for place in places() {
                let mut statement = self.direct.prepare_cached(QUERY).expect("a statement");
                let rows = statement.query_map(params![pk(place), "ITEM#0300", NOW], |row| {
                    row.get::<_, Vec<u8>>(4)
                });
                let data: Result<Vec<_>, _> = rows.expect("rows").collect();
                assert_eq!(data.expect("data").len(), 50);
            }
            READS
        };
        compare(
            "query of 50 records out of a million",
            ROUNDS,
            vec![
                Contender::new("sqlx pool, plain statement", pool),
                Contender::new("store", store),
                Contender::new("rusqlite on the calling thread", direct),
            ],
        );
    }

    /// Runs reads where a server would: on a thread of the runtime.
    fn on_a_worker(&self, reads: impl Future<Output = ()> + Send + 'static) -> u32 {
        self.runtime
            .block_on(self.runtime.spawn(reads))
            .expect("no panic");
        READS
    }
}

/// In one transaction, past the store, which would take its time.
fn fill(connection: &rusqlite::Connection) {
    connection.execute_batch("BEGIN").expect("begun");
    let mut claim = connection
        .prepare("INSERT INTO changestore_claims VALUES ('main', ?1, ?2, 1, ?3, ?3, ?4)")
        .expect("a statement");
    let mut record = connection
        .prepare(
            "INSERT INTO changestore_documents (pk, sk, version, etag, data) VALUES (?, ?, 1, ?, ?)",
        )
        .expect("a statement");
    for number in 0..RECORDS {
        let request = format!("main/{number}");
        let metadata = r#"{"author":"somebody","files":3}"#;
        claim
            .execute(params![uri(number), request, NOW, metadata])
            .expect("inserted");
        let etag = format!("{number:032x}");
        record
            .execute(params![pk(number), sk(number), etag, [7_u8; 100]])
            .expect("inserted");
    }
    connection.execute_batch("COMMIT").expect("committed");
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("checkpointed");
}
