//! The owner's commands beside writers that never pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use changestore_sql::contract::ContractPlan;
use rusqlite::Connection;

use crate::archive::{Archive, plan};

#[tokio::test(flavor = "multi_thread")]
async fn no_writer_and_no_command_fails() {
    beside_writers("WAL", 12).await;
}

/// Where readers and writers lock each other out.
#[tokio::test(flavor = "multi_thread")]
async fn no_writer_and_no_command_fails_without_wal() {
    beside_writers("DELETE", 3).await;
}

async fn beside_writers(journal_mode: &str, rounds: u64) {
    let schema = "CREATE TABLE t(k INTEGER PRIMARY KEY, u UNIQUE, v); CREATE TABLE c(a, b, PRIMARY KEY(a, b)) WITHOUT ROWID";
    let archive = Archive::bare(schema).await;
    archive.run(&format!("PRAGMA journal_mode = {journal_mode}"));
    let stop = Arc::new(AtomicBool::new(false));
    let written: Arc<[AtomicU64; 2]> = Arc::default();
    let writers: Vec<_> = (0..2)
        .map(|writer| {
            let (path, stop, written) = (
                archive.path.clone(),
                Arc::clone(&stop),
                Arc::clone(&written),
            );
            std::thread::spawn(move || {
                let connection = Connection::open(path).unwrap();
                connection.busy_timeout(Duration::from_mins(1)).unwrap();
                connection
                    .execute_batch("PRAGMA synchronous = OFF")
                    .unwrap();
                let mut n = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    // Statements of their own, and transactions that are open while the schema changes.
                    let sql = match n % 4 {
                        0 => "INSERT INTO t(u, v) VALUES (abs(random()), 0)",
                        1 => "REPLACE INTO t(u, v) VALUES (abs(random()) % 100, 1)",
                        2 => {
                            "BEGIN IMMEDIATE; UPDATE t SET v = v + 1 WHERE k % 50 = 3;
                              INSERT OR IGNORE INTO c VALUES (abs(random()) % 9, 'x'); COMMIT"
                        }
                        _ => "DELETE FROM t WHERE k % 7 = 1",
                    };
                    connection
                        .execute_batch(sql)
                        .unwrap_or_else(|error| panic!("{sql}: {error}"));
                    n += 1;
                    written[writer].store(n, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let plan = plan(&["t", "c"]);
    for round in 0..rounds {
        let before: Vec<_> = written
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        archive.owner.enable(&plan).await.unwrap();
        archive.owner.bump("a round").await.unwrap();
        archive
            .owner
            .enable(&ContractPlan::new().with_retention(1024 + round))
            .await
            .unwrap();
        archive.owner.status().await.unwrap();
        if round % 3 == 2 {
            assert!(archive.owner.disable().await.unwrap());
        }
        // Until both have written in between.
        while written
            .iter()
            .zip(&before)
            .any(|(count, before)| count.load(Ordering::Relaxed) <= *before)
        {
            assert!(
                writers.iter().all(|writer| !writer.is_finished()),
                "a writer failed"
            );
            tokio::task::yield_now().await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
    archive.owner.enable(&plan).await.unwrap();
    assert_eq!(archive.unarmed(), 0);
    assert_eq!(archive.text("PRAGMA integrity_check"), "ok");
}
