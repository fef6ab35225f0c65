//! Following: each change once, as it happens, and no trace once it is dropped.

use std::time::{Duration, Instant};

use changestore_sql::contract::{Poll, RebuildReason};

use crate::archive::Archive;
use crate::typed;

/// Far longer than any of it takes; it ends a test that would hang.
const HANGS: Duration = Duration::from_mins(1);

async fn in_time<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANGS, wait)
        .await
        .expect("no change was told in a minute")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_is_told_once_and_in_order() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await.with_batch(5);
    let mut follow = reader.follow(None);
    let first = in_time(follow.next()).await.unwrap();
    assert!(matches!(
        first,
        Poll::Rebuild {
            reason: RebuildReason::NoCursor,
            ..
        }
    ));

    let path = archive.path.clone();
    let writer = std::thread::spawn(move || {
        let connection = crate::archive::connect(&path);
        for id in 1..=500 {
            connection
                .execute("INSERT INTO plain(id) VALUES (?1)", [id])
                .unwrap();
            connection
                .execute("INSERT INTO other(v) VALUES (?1)", [id])
                .unwrap();
        }
    });
    let mut told = Vec::new();
    while told.len() < 500 {
        match in_time(follow.next()).await.unwrap() {
            Poll::Rows(changes) => {
                told.extend(
                    changes
                        .rows
                        .iter()
                        .map(|row| typed::key(&row.key).join("|")),
                );
            }
            other => panic!("{other:?}"),
        }
    }
    writer.join().unwrap();
    let expected: Vec<_> = (1..=500).map(|id| format!("i{id}")).collect();
    assert_eq!(told, expected);
    // And nothing more: what is not told now was not changed.
    assert!(futures::poll!(Box::pin(follow.next())).is_pending());
    let cursor = follow.cursor().cloned();
    let poll = reader.poll(cursor.as_ref()).await.unwrap();
    assert!(matches!(poll, Poll::Unchanged { .. }));
}

#[tokio::test]
async fn a_change_ends_the_wait() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let mut follow = reader.follow(None);
    in_time(follow.next()).await.unwrap();
    for id in 1..=5 {
        let next = follow.next();
        tokio::pin!(next);
        assert!(futures::poll!(&mut next).is_pending());
        archive.run(&format!("INSERT INTO plain(id) VALUES ({id})"));
        let poll = in_time(next).await.unwrap();
        assert!(matches!(poll, Poll::Rows(changes) if changes.rows.len() == 1));
    }
}

#[tokio::test]
async fn a_dropped_wait_loses_nothing() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let mut follow = reader.follow(None);
    in_time(follow.next()).await.unwrap();
    for steps in 0..30 {
        archive.run("INSERT INTO plain(v) VALUES (1)");
        let mut next = Box::pin(follow.next());
        let mut told = None;
        for _ in 0..steps {
            if let std::task::Poll::Ready(poll) = futures::poll!(&mut next) {
                told = Some(poll.unwrap());
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(next);
        let told = match told {
            Some(poll) => poll,
            None => in_time(follow.next()).await.unwrap(),
        };
        assert!(
            matches!(told, Poll::Rows(changes) if changes.rows.len() == 1),
            "{steps} steps"
        );
    }
}

#[tokio::test]
async fn it_goes_on_in_the_file_that_took_the_place() {
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    let mut follow = reader.follow(None);
    in_time(follow.next()).await.unwrap();

    let aside = archive.path.with_extension("aside");
    archive
        .connect()
        .execute("VACUUM INTO ?1", [aside.to_str().unwrap()])
        .unwrap();
    std::fs::remove_file(&archive.path).unwrap();
    for suffix in ["db-wal", "db-shm"] {
        let _ = std::fs::remove_file(archive.path.with_extension(suffix));
    }
    // It is missing for a while.
    assert!(futures::poll!(Box::pin(follow.next())).is_pending());
    std::fs::rename(aside, &archive.path).unwrap();
    let poll = in_time(follow.next()).await.unwrap();
    assert!(
        matches!(
            poll,
            Poll::Rebuild {
                reason: RebuildReason::FileReplaced,
                ..
            }
        ),
        "{poll:?}"
    );
    archive.run("INSERT INTO plain(v) VALUES (1)");
    assert!(matches!(
        in_time(follow.next()).await.unwrap(),
        Poll::Rows(_)
    ));
}

#[tokio::test]
async fn without_a_contract_each_commit_is_told_and_no_more() {
    let archive = Archive::bare();
    let mut reader = archive.reader("rows").await;
    let mut follow = reader.follow(None);
    let absent = Poll::Rebuild {
        reason: RebuildReason::Absent,
        next: None,
    };
    assert_eq!(in_time(follow.next()).await.unwrap(), absent);
    assert!(futures::poll!(Box::pin(follow.next())).is_pending());
    archive.run("INSERT INTO other(v) VALUES (1)");
    assert_eq!(in_time(follow.next()).await.unwrap(), absent);
    archive
        .owner()
        .await
        .enable(&crate::archive::plan())
        .await
        .unwrap();
    let poll = in_time(follow.next()).await.unwrap();
    assert!(
        matches!(
            poll,
            Poll::Rebuild {
                reason: RebuildReason::NoCursor,
                ..
            }
        ),
        "{poll:?}"
    );
}

/// Threads of this process with such a name.
#[cfg(target_os = "linux")]
fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|comm| comm.starts_with(name)).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_it_ends_the_watch_and_leaves_the_reader() {
    const WATCHER: &str = "notify-rs inoti";
    let archive = Archive::enabled().await;
    let mut reader = archive.reader("rows").await;
    // The other tests have watchers, too: many more than they have, and then no more than that.
    for _ in 0..200 {
        let mut follow = reader.follow(None);
        in_time(follow.next()).await.unwrap();
        drop(follow);
    }
    let deadline = Instant::now() + HANGS;
    while threads(WATCHER) >= 100 {
        assert!(
            Instant::now() < deadline,
            "{} watchers are left",
            threads(WATCHER)
        );
        std::thread::yield_now();
    }
    reader.poll(None).await.unwrap();
}
