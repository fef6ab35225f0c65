//! Expired rows go away, later.

use std::time::Duration;

use changestore_core::{Condition, DocumentStore, ManualClock, Timestamp};
use changestore_sql::SqliteStore;

use crate::{File, key, record};

const DAY: Duration = Duration::from_hours(24);

async fn store(file: &File) -> (SqliteStore, ManualClock) {
    let clock = ManualClock::new(Timestamp::from_millis(1_795_996_800_000).unwrap());
    let options = file.options().with_clock(clock.clone());
    (SqliteStore::open_with(options).await.unwrap(), clock)
}

async fn put_expiring(store: &SqliteStore, count: usize, expire_at: Timestamp) {
    let puts = (0..count).map(|n| {
        let expiring = record(&format!("expiring {n:05}"), "x").with_expire_at(expire_at);
        store.put(expiring, Condition::None)
    });
    for result in futures::future::join_all(puts).await {
        result.unwrap();
    }
}

fn rows(file: &File) -> i64 {
    file.direct()
        .query_row("SELECT count(*) FROM changestore_documents", [], |row| {
            row.get(0)
        })
        .unwrap()
}

#[tokio::test]
async fn a_collection_takes_what_is_long_expired_and_nothing_else() {
    let file = File::new();
    let (store, clock) = store(&file).await;
    let now = changestore_core::Clock::now(&clock);
    put_expiring(&store, 1_500, now.saturating_add(DAY)).await;
    store
        .increment(&key("counter"), 1, Some(now.saturating_add(DAY)))
        .await
        .unwrap();
    store
        .put(record("lasting", "x"), Condition::None)
        .await
        .unwrap();
    let due = now.saturating_add(2 * DAY);
    clock.set(due.saturating_sub(Duration::from_millis(1)));
    assert_eq!(
        store.collect_expired().await.unwrap(),
        0,
        "another's clock may lag"
    );
    clock.set(due);
    assert_eq!(store.collect_expired().await.unwrap(), 1_501);
    assert_eq!(rows(&file), 1);
    assert_eq!(store.collect_expired().await.unwrap(), 0);
}

#[tokio::test]
async fn those_who_write_collect_little_by_little() {
    let file = File::new();
    let (store, clock) = store(&file).await;
    let now = changestore_core::Clock::now(&clock);
    put_expiring(&store, 1_500, now.saturating_add(DAY)).await;
    clock.advance(2 * DAY);
    for n in 0..700 {
        store
            .put(record(&format!("lasting {}", n % 10), "x"), Condition::None)
            .await
            .unwrap();
    }
    store.close().await;
    assert_eq!(rows(&file), 10);
}
