//! What a poll and the reading of changed rows cost, beside what they are built on.
//!
//! `cargo bench -p changestore-sql --features sqlite --bench contract_poll` prints two tables in Markdown. Each number is
//! the median over rounds in which all candidates take turns, so that what else the machine does meets them
//! alike. `--quick` takes smaller tables; it is for looking whether it runs.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use changestore_sql::contract::{
    ContractOwner, ContractPlan, ContractReader, Cursor, Poll, SchemaGuard,
};
use rusqlite::Connection;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // Cargo passes `--bench` along.
    let quick = std::env::args().any(|argument| argument == "--quick");
    unchanged(if quick { 20_000 } else { 1_000_000 }).await;
    changed(if quick { 50_000 } else { 1_000_000 }).await;
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

/// A poll of a family that did not change: nothing was committed at all, or another table was written to.
async fn unchanged(large: i64) {
    println!(
        "| tracked tables | rows | log entries | `PRAGMA data_version`, µs | poll, µs | ratio | poll after a write elsewhere, µs | ratio |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (tables, rows, entries) in [1, 20, 200]
        .into_iter()
        .flat_map(|tables| [(tables, 1_000, 1_000), (tables, large, large)])
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
        let (mut other, behind) = open(&path).await;
        let (mut versions, mut polls, mut elsewhere) = (vec![], vec![], vec![]);
        for round in 0..2_000_u32 {
            let begun = Instant::now();
            let version: i64 = sqlx::query_scalar("PRAGMA data_version")
                .fetch_one(&mut plain)
                .await
                .unwrap();
            versions.push(begun.elapsed());
            black_box(version);

            // The other one's cursor stays behind a sequence that has gone on, which is the dearer case.
            if round == 1_000 {
                writer
                    .execute("UPDATE elsewhere SET n = n + 1 WHERE id = 1", [])
                    .unwrap();
            }
            let (reader, cursor, times) = if round < 1_000 {
                (&mut reader, &cursor, &mut polls)
            } else {
                (&mut other, &behind, &mut elsewhere)
            };
            let begun = Instant::now();
            let poll = reader.poll(Some(cursor)).await.unwrap();
            times.push(begun.elapsed());
            assert!(matches!(poll, Poll::Unchanged { .. }));
        }
        let (version, poll, elsewhere) = (median(versions), median(polls), median(elsewhere));
        println!(
            "| {tables} | {rows} | {entries} | {version:.1} | {poll:.1} | {:.2} | {elsewhere:.1} | {:.2} |",
            poll / version,
            elsewhere / version,
        );
    }
    println!();
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

fn by_hand(connection: &Connection, cursor: &Cursor) -> Vec<ByHand> {
    let now: i64 = connection
        .prepare_cached("SELECT value FROM change_contract_sequence")
        .unwrap()
        .query_row([], |row| row.get(0))
        .unwrap();
    let mut statement = connection.prepare_cached(BY_HAND).unwrap();
    let rows = statement
        .query_map([cursor.seq, now], |row| {
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

/// Changed rows, spread over all of the table.
async fn changed(rows: i64) {
    println!(
        "| changed rows | rusqlite join by hand, µs | poll (keys), µs | ratio | poll and rows, one snapshot, µs | ratio |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    let folder = tempfile::tempdir().unwrap();
    let writer = archive(&folder, 1, rows, 1_000).await;
    let path = folder.path().join("archive.db");
    let (mut reader, mut cursor) = open(&path).await;
    // A reader like ours: a connection of its own, and nothing cached that another one wrote.
    let hand_reader = Connection::open(&path).unwrap();
    for (k, rounds) in [(10_i64, 301), (1_000, 61), (10_000, 15)] {
        let (mut hand, mut keys, mut both) = (vec![], vec![], vec![]);
        for round in 0..rounds {
            let step = rows / k;
            let update = "UPDATE t0 SET n = n + 1 WHERE id % ?1 = ?2";
            writer.execute(update, [step, round % step]).unwrap();

            let begun = Instant::now();
            let found = by_hand(&hand_reader, &cursor);
            hand.push(begun.elapsed());

            let begun = Instant::now();
            let poll = reader.poll(Some(&cursor)).await.unwrap();
            keys.push(begun.elapsed());
            assert!(matches!(&poll, Poll::Rows(changes) if changes.rows.len() == found.len()));

            let begun = Instant::now();
            let mut snapshot = reader.snapshot(Some(&cursor)).await.unwrap();
            let read = snapshot
                .rows("t0", &["id", "title", "state", "n"])
                .await
                .unwrap();
            let poll = snapshot.end().await.unwrap();
            both.push(begun.elapsed());
            assert_eq!(read.len(), found.len());
            black_box((read, found));
            cursor = poll.next().cloned().unwrap();
        }
        let (hand, keys, both) = (median(hand), median(keys), median(both));
        println!(
            "| {k} | {hand:.0} | {keys:.0} | {:.2} | {both:.0} | {:.2} |",
            keys / hand,
            both / hand
        );
    }
}
