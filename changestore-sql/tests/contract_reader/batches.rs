//! Large change sets in batches: a cursor that is safe after each, beside a writer, and nothing pinned between.

use std::sync::atomic::{AtomicBool, Ordering};

use changestore_sql::contract::{Poll, RebuildReason};
use rusqlite::Connection;

use crate::archive::{Archive, Consumer, TABLES};
use crate::random::{Random, writes};

const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
                    INSERT INTO heap(v) SELECT i FROM n";

fn all() -> Vec<&'static str> {
    TABLES.iter().map(|(table, ..)| *table).collect()
}

#[tokio::test]
async fn batches_are_as_long_as_asked_and_end_at_the_end() {
    let archive = Archive::enabled().await;
    let mut consumer = Consumer::new(&archive.path, "rows", &all(), 100).await;
    consumer.step().await;
    archive.run(MANY);
    for batch in 1..=9 {
        match consumer.step().await {
            Poll::Rows(changes) => {
                assert_eq!(changes.rows.len(), 100);
                assert_eq!(changes.more, batch < 9);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(consumer.step().await, Poll::Unchanged { .. }));
    consumer.check("all batches");
}

#[tokio::test]
async fn a_row_that_changes_often_is_given_once_in_a_batch() {
    let archive = Archive::enabled().await;
    let mut consumer = Consumer::new(&archive.path, "rows", &all(), 100).await;
    consumer.step().await;
    archive.run(
        "INSERT INTO plain VALUES (1, 'a'), (2, 'b'); UPDATE plain SET v = 'c' WHERE id = 1;
         DELETE FROM plain WHERE id = 2; UPDATE plain SET v = 'd' WHERE id = 1;",
    );
    match consumer.step().await {
        Poll::Rows(changes) => {
            let rows: Vec<_> = changes
                .rows
                .iter()
                .map(|row| (row.key.to_string(), row.operation.as_str()))
                .collect();
            assert_eq!(
                rows,
                [("2".to_owned(), "delete"), ("1".to_owned(), "update")]
            );
        }
        other => panic!("{other:?}"),
    }
}

/// The file's log of writes, in bytes.
fn wal(archive: &Archive) -> u64 {
    std::fs::metadata(archive.path.with_extension("db-wal"))
        .unwrap()
        .len()
}

/// Whether a checkpoint could empty the log of writes.
fn checkpoint(connection: &Connection) -> bool {
    let busy: i64 = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .unwrap();
    busy == 0
}

#[tokio::test]
async fn nothing_is_pinned_between_batches() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await.with_batch(10);
    let mut cursor = reader.poll(None).await.unwrap().next().cloned();
    let writer = archive.connect();
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    writer.execute_batch(MANY).unwrap();
    for _ in 0..5 {
        let poll = reader.poll(cursor.as_ref()).await.unwrap();
        assert!(matches!(&poll, Poll::Rows(changes) if changes.more));
        cursor = poll.next().cloned();
        writer
            .execute_batch("INSERT INTO other(v) VALUES (1)")
            .unwrap();
        assert!(checkpoint(&writer));
        assert_eq!(wal(&archive), 0);
    }
    // A snapshot does pin it, until it ends; also with a batch that nobody has looked at.
    let snapshot = reader.snapshot(cursor.as_ref()).await.unwrap();
    writer
        .execute_batch("INSERT INTO other(v) VALUES (1)")
        .unwrap();
    assert!(!checkpoint(&writer));
    snapshot.end().await.unwrap();
    assert!(checkpoint(&writer));
}

#[tokio::test]
async fn a_dropped_poll_leaves_no_transaction() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let writer = archive.connect();
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    for steps in 0..40_u32 {
        // Without a memory of the contract a poll is a transaction of several statements.
        archive.run("CREATE TABLE IF NOT EXISTS passing(x); DROP TABLE passing");
        let mut poll = Box::pin(reader.poll(None));
        for _ in 0..steps {
            if futures::poll!(&mut poll).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(poll);
        // The next call waits for what was begun, and for its end.
        reader.poll(None).await.unwrap();
        writer
            .execute_batch("INSERT INTO other(v) VALUES (1)")
            .unwrap();
        assert!(checkpoint(&writer), "dropped after {steps} steps");
    }
}

#[tokio::test]
async fn what_is_pruned_before_it_was_read_leads_to_a_rebuild() {
    let archive = Archive::enabled().await;
    let mut consumer = Consumer::new(&archive.path, "rows", &all(), 100).await;
    consumer.step().await;
    archive.run(MANY);
    assert!(matches!(consumer.step().await, Poll::Rows(changes) if changes.more));
    // The retention is 1,024: these leave nothing of the 800 that are still to be read.
    for _ in 0..3 {
        archive.run(MANY);
    }
    match consumer.step().await {
        Poll::Rebuild { reason, .. } => assert_eq!(reason, RebuildReason::Pruned),
        other => panic!("{other:?}"),
    }
    consumer.check("the rebuild");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_cursor_is_safe_beside_a_writer() {
    let archive = Archive::enabled().await;
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let writer = archive.connect();
            let mut random = Random(11);
            for _ in 0..1_500 {
                for sql in writes(&mut random) {
                    // Those that break a constraint write nothing.
                    let _ = writer.execute_batch(&sql);
                }
            }
            done.store(true, Ordering::Release);
        });
        let consume = async {
            let mut random = Random(12);
            let mut consumer = Consumer::new(&archive.path, "rows", &all(), 7).await;
            let mut batches = 0;
            loop {
                let finished = done.load(Ordering::Acquire);
                let poll = consumer.step().await;
                batches += 1;
                if finished && matches!(poll, Poll::Unchanged { .. }) {
                    break;
                }
                // It crashes, and begins anew with what it has stored.
                if random.once_in(10) {
                    let stored = consumer.cursor.map(|cursor| cursor.to_string());
                    let copy = consumer.copy;
                    consumer = Consumer::new(&archive.path, "rows", &all(), 7).await;
                    consumer.cursor = stored.map(|cursor| cursor.parse().unwrap());
                    consumer.copy = copy;
                }
            }
            assert!(batches > 20, "the writer was never met: {batches}");
            consumer.check("the writer's end");
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(consume));
    });
}
