//! What a poll and the reading of changed rows cost, beside what they are built on.
//!
//! ```sh
//! cargo bench -p changestore-sql --features sqlite --bench contract_poll -- [polls|rows] [ROWS [LOG_ENTRIES]]
//! ```
//!
//! prints two tables in Markdown, or one of them. Polls are measured with 1,000 rows and entries, and with ROWS (1,000,000) and
//! `LOG_ENTRIES` (1,000,000); changed rows among `ROWS`. Each number is the median over rounds in which all candidates take
//! turns, so that what else the machine does meets them alike, each on a connection of its own.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use changestore_sql::contract::{
    ContractOwner, ContractPlan, ContractReader, Cursor, Poll, SchemaGuard,
};
use rusqlite::Connection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

const POLL_ROUNDS: u32 = 1_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // Cargo passes `--bench` along.
    let mut sizes = std::env::args().filter_map(|argument| argument.parse().ok());
    let rows = sizes.next().unwrap_or(1_000_000);
    let entries = sizes.next().unwrap_or(1_000_000);
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    if !asked("rows") {
        unchanged(rows, entries).await;
    }
    if !asked("polls") {
        changed(rows).await;
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Tables `t0` … in one family `f`, and one more, `elsewhere`, in none.
async fn archive(folder: &TempDir, tables: usize, rows: i64, entries: i64) -> Connection {
    let path = folder.path().join("archive.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;")
        .unwrap();
    let names: Vec<_> = (0..tables).map(|table| format!("t{table}")).collect();
    for name in names.iter().map(String::as_str).chain(["elsewhere"]) {
        let sql = format!(
            "CREATE TABLE {name}(id INTEGER PRIMARY KEY, title TEXT, state TEXT, n INTEGER)"
        );
        connection.execute_batch(&sql).unwrap();
    }
    fill(&connection, "t0", 1, rows);
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    let modes: Vec<_> = names
        .iter()
        .map(|name| format!("{name} = \"rows\"\n"))
        .collect();
    let plan = format!(
        "retention = 2000000\n[tables]\nelsewhere = \"rows\"\n{}[families]\nf = [{}]\n",
        modes.concat(),
        quoted.join(", "),
    );
    let owner = ContractOwner::open(&path, SchemaGuard::Unchecked)
        .await
        .unwrap();
    owner
        .enable(&ContractPlan::from_toml(&plan).unwrap())
        .await
        .unwrap();
    fill(&connection, "elsewhere", 1, entries);
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    connection
}

fn fill(connection: &Connection, table: &str, from: i64, rows: i64) {
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i < {})
         INSERT INTO {table} SELECT i, 'title of ' || i, 'open', i * 7 FROM n",
        from + rows - 1,
    );
    connection.execute_batch(&sql).unwrap();
}

async fn open(path: &Path) -> (ContractReader, Cursor) {
    let mut reader = ContractReader::open(path, "f").await.unwrap();
    let cursor = reader.poll(None).await.unwrap().next().cloned().unwrap();
    (reader, cursor)
}

/// A poll of a family that did not change: nothing was committed at all, or another table was written to, once or
/// so often that the log is longer than the family's list of tables.
async fn unchanged(rows: i64, entries: i64) {
    println!(
        "| tracked tables | rows | log entries | `PRAGMA data_version`, µs | poll, µs | ratio | after a write elsewhere, µs | ratio | after 1,000 writes elsewhere, µs | ratio |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (tables, rows, entries) in [1, 20, 200]
        .into_iter()
        .flat_map(|tables| [(tables, 1_000, 1_000), (tables, rows, entries)])
    {
        let folder = tempfile::tempdir().unwrap();
        let writer = archive(&folder, tables, rows, entries).await;
        let path = folder.path().join("archive.db");
        let mut plain = SqliteConnectOptions::new()
            .filename(&path)
            .read_only(true)
            .connect()
            .await
            .unwrap();
        let (mut reader, cursor) = open(&path).await;
        let mut line = format!("| {tables} | {rows} | {entries} |");
        // The cursor stays where it was: the dearer case once the sequence has gone on.
        for (place, writes) in [0, 1, 999].into_iter().enumerate() {
            for _ in 0..writes {
                let update = "UPDATE elsewhere SET n = n + 1 WHERE id = 1";
                writer.execute(update, []).unwrap();
            }
            let (version, poll) = polls(&mut plain, &mut reader, &cursor).await;
            if place == 0 {
                let _ = write!(line, " {version:.1} |");
            }
            let _ = write!(line, " {poll:.1} | {:.2} |", poll / version);
        }
        println!("{line}");
    }
    println!();
}

/// The medians of `PRAGMA data_version` and of a poll.
async fn polls(
    plain: &mut SqliteConnection,
    reader: &mut ContractReader,
    cursor: &Cursor,
) -> (f64, f64) {
    let (mut versions, mut polls) = (vec![], vec![]);
    for _ in 0..POLL_ROUNDS {
        let begun = Instant::now();
        let version: i64 = sqlx::query_scalar("PRAGMA data_version")
            .fetch_one(&mut *plain)
            .await
            .unwrap();
        versions.push(begun.elapsed());
        black_box(version);

        let begun = Instant::now();
        let poll = reader.poll(Some(cursor)).await.unwrap();
        polls.push(begun.elapsed());
        assert!(matches!(poll, Poll::Unchanged { .. }));
    }
    (median(versions), median(polls))
}

/// The same read, as one would write it by hand for this one table.
const BY_HAND: &str = "SELECT l.seq, l.op, l.row_key, t.id, t.title, t.state, t.n
    FROM change_contract_log l LEFT JOIN t0 t ON t.id = l.row_key
    WHERE l.table_id = (SELECT table_id FROM change_contract_tables WHERE table_name = 't0')
      AND l.seq > ?1 AND l.seq <= ?2 ORDER BY l.seq";

type ByHand = (
    i64,
    i64,
    i64,
    Option<i64>,
    Option<String>,
    Option<String>,
    Option<i64>,
);

fn by_hand(connection: &Connection, since: i64) -> Vec<ByHand> {
    let now: i64 = connection
        .prepare_cached("SELECT value FROM change_contract_sequence")
        .unwrap()
        .query_row([], |row| row.get(0))
        .unwrap();
    let mut statement = connection.prepare_cached(BY_HAND).unwrap();
    let rows = statement
        .query_map([since, now], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
            ))
        })
        .unwrap();
    rows.map(Result::unwrap).collect()
}

/// As a program of async functions has to read what may block.
async fn by_hand_blocking(held: &mut Option<Connection>, since: i64) -> Vec<ByHand> {
    let connection = held.take().unwrap();
    let read = tokio::task::spawn_blocking(move || (by_hand(&connection, since), connection));
    let (rows, connection) = read.await.unwrap();
    *held = Some(connection);
    rows
}

/// By their keys: a scan of the table would put all of it into the processor's caches, in place of whatever is measured
/// next.
const UPDATE: &str = "UPDATE t0 SET n = n + 1 WHERE id IN (
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?3 - 1)
      SELECT i * ?1 + ?2 + 1 FROM n)";

const COLUMNS: &[&str] = &["id", "title", "state", "n"];

/// The ways to read changed rows, each with a reader like ours: a connection of its own, and nothing cached that another
/// one wrote.
const WAYS: usize = 5;

/// All orders in turn: whoever comes first finds less in the system's cache, and a connection's thread that follows the
/// calling one has to be woken.
fn order(round: usize) -> [usize; WAYS] {
    let mut left: Vec<_> = (0..WAYS).collect();
    let mut round = round;
    std::array::from_fn(|_| {
        let place = round % left.len();
        round /= left.len();
        left.remove(place)
    })
}

/// Changed rows, spread over all of the table.
async fn changed(rows: i64) {
    println!(
        "| changed rows | | rusqlite join by hand, µs | the same in `spawn_blocking`, µs | fetch: poll and rows, µs | over the join | over it in `spawn_blocking` | snapshot: poll and rows, µs | over the join | poll: keys alone, µs | over the join |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let folder = tempfile::tempdir().unwrap();
    let writer = archive(&folder, 1, rows, 1_000).await;
    let path = folder.path().join("archive.db");
    let hand_reader = Connection::open(&path).unwrap();
    let (mut fetching, mut cursor) = open(&path).await;
    let (mut snapshots, _) = open(&path).await;
    let (mut polling, _) = open(&path).await;
    let mut blocking_reader = Some(Connection::open(&path).unwrap());
    for (k, rounds) in [(10_i64, 401_u32), (1_000, 101), (10_000, 25)] {
        let mut times = [const { vec![] }; WAYS];
        let mut processor = [const { vec![] }; WAYS];
        for round in 0..rounds {
            let step = rows / k;
            let written = writer
                .execute(UPDATE, [step, i64::from(round) % step, k])
                .unwrap();
            let mut next = None;
            for way in order(round as usize) {
                let (begun, busy) = (Instant::now(), processor_time());
                let read = match way {
                    0 => black_box(by_hand(&hand_reader, cursor.seq)).len(),
                    1 => {
                        let (mut read, mut after) = (0, cursor.clone());
                        loop {
                            let wanted = [("t0", COLUMNS)];
                            let fetched = fetching.fetch(Some(&after), &wanted).await.unwrap();
                            read += black_box(fetched.rows("t0")).len();
                            let Poll::Rows(changes) = fetched.poll else {
                                panic!("nothing changed")
                            };
                            after = changes.next;
                            if !changes.more {
                                break;
                            }
                        }
                        next = Some(after);
                        read
                    }
                    2 => {
                        let mut snapshot = snapshots.snapshot(Some(&cursor)).await.unwrap();
                        let read = black_box(snapshot.rows("t0", COLUMNS).await.unwrap());
                        snapshot.end().await.unwrap();
                        read.len()
                    }
                    3 => black_box(by_hand_blocking(&mut blocking_reader, cursor.seq).await).len(),
                    _ => match polling.poll(Some(&cursor)).await.unwrap() {
                        Poll::Rows(changes) => changes.rows.len(),
                        other => panic!("{other:?}"),
                    },
                };
                processor[way].push(processor_time().saturating_sub(busy));
                times[way].push(begun.elapsed());
                assert_eq!(read, written);
            }
            cursor = next.unwrap();
        }
        for (what, times) in [("elapsed", times), ("processor", processor)] {
            let [hand, fetch, snapshot, blocking, keys] = times.map(median);
            println!(
                "| {k} | {what} | {hand:.0} | {blocking:.0} | {fetch:.0} | {:.2} | {:.2} | {snapshot:.0} | {:.2} | {keys:.0} | {:.2} |",
                fetch / hand,
                fetch / blocking,
                snapshot / hand,
                keys / hand,
            );
        }
    }
}

/// Of all threads, a connection's among them: what other programs take is not in it, nor what it takes to wake a thread.
/// Elsewhere than on Unix it is the time that passes.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = Duration::from_secs(time.tv_sec.try_into().unwrap_or_default());
    seconds + Duration::from_nanos(time.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}
