//! Writes that wait together are committed together, each with its own result.

use std::collections::HashSet;

use changestore_core::{
    ChangeStore, Condition, CreateOutcome, DocumentStore, ErrorKind, Outcome, RecordKind, Version,
};
use changestore_sql::SqliteStore;
use futures::future::join_all;

use crate::{File, claim, created, key, record};

/// How many transactions the WAL holds: its frames that end one carry the database's size.
fn commits(file: &File) -> usize {
    let wal = std::fs::read(format!("{}-wal", file.path)).unwrap();
    let number = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().unwrap());
    let page_size = number(8) as usize;
    let salt = &wal[16..24];
    let frames = (32..wal.len()).step_by(24 + page_size);
    frames
        .filter(|frame| &wal[frame + 8..frame + 16] == salt && number(frame + 4) > 0)
        .count()
}

/// A store whose writes wait: the lock is taken until it is dropped.
async fn locked(file: &File) -> (SqliteStore, rusqlite::Connection) {
    let store = file.store().await;
    let lock = file.direct();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    (store, lock)
}

#[tokio::test]
async fn all_that_wait_share_one_commit() {
    let file = File::new();
    let (store, lock) = locked(&file).await;
    let before = commits(&file);
    let counter = key("counter");
    let creates = (0..64).map(|n| store.create(claim(&format!("r{n:02}"))));
    let puts = (0..64).map(|n| store.put(record(&format!("{n:02}"), "x"), Condition::IfAbsent));
    let counts = (0..64).map(|_| store.increment(&counter, 1, None));
    let all = futures::future::join3(join_all(creates), join_all(puts), join_all(counts));
    let mut all = std::pin::pin!(all);
    // A few polls queue them all (tokio lets a task do only so much in one); then the lock goes.
    for _ in 0..10 {
        assert!(futures::poll!(all.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    drop(lock);
    let (outcomes, records, values) = all.await;
    for outcome in outcomes {
        assert_eq!(outcome.unwrap(), CreateOutcome::Created);
    }
    for record in records {
        assert_eq!(record.unwrap().version, Version::FIRST);
    }
    let values: HashSet<i64> = values.into_iter().map(Result::unwrap).collect();
    assert_eq!(values, (1..=64).collect());
    // One, or two if the first were on their way to the database when the lock went.
    let commits = commits(&file) - before;
    assert!(
        (1..=2).contains(&commits),
        "{commits} commits for 192 writes"
    );
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 64);
}

#[tokio::test]
async fn one_of_equal_claims_in_a_batch_is_created() {
    let file = File::new();
    let (store, lock) = locked(&file).await;
    let creates = (0..64).map(|n| store.create(claim(&format!("r{}", n % 4))));
    let mut creates = std::pin::pin!(join_all(creates));
    assert!(futures::poll!(creates.as_mut()).is_pending());
    drop(lock);
    let outcomes = creates.await.into_iter().map(Result::unwrap);
    let new = outcomes.filter(|outcome| *outcome == CreateOutcome::Created);
    assert_eq!(new.count(), 4);
}

#[tokio::test]
async fn a_refused_write_does_not_disturb_its_neighbours() {
    let file = File::new();
    let store = file.store().await;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    store.increment(&key("n"), i64::MAX, None).await.unwrap();
    let (store, lock) = locked(&file).await;
    let (a, n, nobody) = (key("a"), key("n"), key("nobody"));
    let writes = async {
        futures::join!(
            store.put(record("a", "2"), Condition::IfAbsent),
            store.put(record("b", "1"), Condition::IfAbsent),
            store.put(record("n", "1"), Condition::None),
            store.increment(&n, 1, None),
            store.increment(&a, 1, None),
            store.delete(&nobody, Condition::None),
            store.create(claim("r1")),
        )
    };
    let mut writes = std::pin::pin!(writes);
    assert!(futures::poll!(writes.as_mut()).is_pending());
    drop(lock);
    let (taken, free, counter, overflow, not_a_counter, missing, created) = writes.await;
    assert_eq!(*taken.unwrap_err().kind(), ErrorKind::ConditionFailed);
    assert_eq!(free.unwrap().version, Version::FIRST);
    let stored = RecordKind::Counter;
    assert_eq!(
        *counter.unwrap_err().kind(),
        ErrorKind::WrongKind { stored }
    );
    assert!(overflow.unwrap_err().to_string().contains("64-bit"));
    let stored = RecordKind::Record;
    assert_eq!(
        *not_a_counter.unwrap_err().kind(),
        ErrorKind::WrongKind { stored }
    );
    assert!(missing.unwrap_err().is_not_found());
    assert_eq!(created.unwrap(), CreateOutcome::Created);
}

#[tokio::test]
async fn a_write_that_the_database_refuses_does_not_disturb_its_neighbours() {
    let file = File::new();
    let store = file.store().await;
    file.direct()
        .execute_batch(
            "CREATE TRIGGER no_poison BEFORE INSERT ON changestore_claims \
             WHEN NEW.request_id = 'poison' BEGIN SELECT RAISE(ABORT, 'no poison'); END",
        )
        .unwrap();
    let lock = file.direct();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let requests = ["r1", "poison", "r2", "r3"];
    let mut creates = std::pin::pin!(join_all(
        requests.map(|request| store.create(claim(request)))
    ));
    assert!(futures::poll!(creates.as_mut()).is_pending());
    drop(lock);
    let results = creates.await;
    for (request, result) in requests.iter().zip(results) {
        match result {
            Ok(outcome) => assert_eq!(outcome, CreateOutcome::Created),
            Err(error) => {
                assert_eq!(*request, "poison");
                assert_eq!(error.outcome(), Outcome::NotApplied);
                assert!(!error.is_retryable());
            }
        }
    }
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 3);
}

#[tokio::test]
async fn dropped_writes_leave_nothing_behind() {
    let file = File::new();
    let store = file.store().await;
    for n in 0..400 {
        let key = key(&format!("counter {}", n % 4));
        let mut write = std::pin::pin!(store.increment(&key, 1, None));
        // Some are dropped while they wait for room, some in the queue, some in a transaction.
        for _ in 0..n % 7 {
            if futures::poll!(write.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    // The lock is free for others, and everyone's writes go on and are seen.
    file.direct()
        .execute_batch("BEGIN IMMEDIATE; ROLLBACK")
        .unwrap();
    for n in 0..4 {
        let key = key(&format!("counter {n}"));
        let before = store.increment(&key, 0, None).await.unwrap();
        assert!((0..=100).contains(&before), "{before}");
        assert_eq!(store.increment(&key, 1, None).await.unwrap(), before + 1);
    }
}

#[tokio::test]
async fn the_writer_survives_a_failed_statement() {
    let file = File::new();
    let store = file.store().await;
    created(&store, "r1").await;
    // Every statement fails while the tables are away.
    let direct = file.direct();
    direct
        .execute_batch("ALTER TABLE changestore_claims RENAME TO away")
        .unwrap();
    let error = store.create(claim("r2")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    direct
        .execute_batch("ALTER TABLE away RENAME TO changestore_claims")
        .unwrap();
    assert_eq!(
        store.create(claim("r2")).await.unwrap(),
        CreateOutcome::Created
    );
}
