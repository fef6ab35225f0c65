//! Rows that expired long ago.

use std::time::Duration;

use changestore_core::{Condition, DocumentStore as _, Key, ManualClock, NewRecord, Timestamp};
use sqlx::AssertSqlSafe;

use crate::server::{direct, open, prefix, shared, with_prefix};

async fn rows(prefix: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {prefix}documents");
    let mut connection = direct(shared()).await;
    let rows = sqlx::query_scalar(AssertSqlSafe(sql));
    rows.fetch_one(&mut connection).await.unwrap()
}

/// In one large partition and in many small ones, so that a step ends within one, at one's end and across
/// several.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn all_that_is_long_expired_is_collected_and_nothing_else() {
    let prefix = prefix();
    let clock = ManualClock::new(Timestamp::from_millis(1_000).unwrap());
    let options = with_prefix(&shared().url(), &prefix).with_clock(clock.clone());
    let store = open(options).await;
    let mut puts = Vec::new();
    for place in 0..2_400_u32 {
        let pk = if place % 2 == 0 {
            "large".to_owned()
        } else {
            format!("small{}", place / 3)
        };
        let key = Key::new(pk, format!("{place:05}")).unwrap();
        let expire_at = (place % 3 != 0).then(|| Timestamp::from_millis(2_000).unwrap());
        puts.push((key, expire_at));
    }
    futures::future::join_all(puts.iter().map(|(key, expire_at)| {
        let store = store.clone();
        async move {
            let (pk, sk) = (key.pk().to_owned(), key.sk().to_owned());
            let mut record = NewRecord::new(Key::new(pk, sk).unwrap(), "data").unwrap();
            if let Some(expire_at) = expire_at {
                record = record.with_expire_at(*expire_at);
            }
            store.put(record, Condition::IfAbsent).await.unwrap();
        }
    }))
    .await;
    store
        .increment(
            &Key::new("large", "counter").unwrap(),
            1,
            Some(Timestamp::from_millis(2_000).unwrap()),
        )
        .await
        .unwrap();
    clock.set(
        Timestamp::from_millis(2_000)
            .unwrap()
            .saturating_add(Duration::from_hours(24) - Duration::from_millis(1)),
    );
    assert_eq!(
        store.collect_expired().await.unwrap(),
        0,
        "a day has not passed"
    );
    clock.advance(Duration::from_millis(1));
    assert_eq!(store.collect_expired().await.unwrap(), 1_601);
    assert_eq!(rows(&prefix).await, 800);
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn writes_collect_little_by_little() {
    let prefix = prefix();
    let clock = ManualClock::new(Timestamp::from_millis(1_000).unwrap());
    let options = with_prefix(&shared().url(), &prefix).with_clock(clock.clone());
    let store = open(options).await;
    let expired = Timestamp::from_millis(2_000).unwrap();
    for place in 0..100 {
        let key = Key::new("p", format!("{place:03}")).unwrap();
        let record = NewRecord::new(key, "data").unwrap().with_expire_at(expired);
        store.put(record, Condition::IfAbsent).await.unwrap();
    }
    clock.advance(Duration::from_hours(48));
    for _ in 0..300 {
        let key = Key::new("q", "busy").unwrap();
        store
            .put(NewRecord::new(key, "data").unwrap(), Condition::None)
            .await
            .unwrap();
    }
    assert_eq!(rows(&prefix).await, 1);
}
