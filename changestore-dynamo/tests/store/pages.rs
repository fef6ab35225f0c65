//! Queries over more than a page, counted in requests.

use changestore_core::{Condition, DocumentStore, DocumentStoreExt, QueryOptions};
use futures::TryStreamExt as _;

use super::*;

/// 5 MB of records under one pk.
const RECORDS: usize = 50;
const BYTES: usize = 100_000;

async fn filled() -> Site {
    let site = Site::new().await;
    for number in 0..RECORDS {
        let record = record(&format!("{number:03}"), &"x".repeat(BYTES));
        site.store.put(record, Condition::IfAbsent).await.unwrap();
    }
    site.proxy.seen();
    site
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn five_megabytes_come_in_pages_and_the_first_item_after_one() {
    let site = filled().await;
    let mut records = site.store.query("partition", "", QueryOptions::default());
    assert!(site.proxy.seen().is_empty());
    let first = records.try_next().await.unwrap().unwrap();
    assert_eq!(first.key, key("000"));
    assert_eq!(site.proxy.seen(), ["Query"]);
    let rest: Vec<_> = records.try_collect().await.unwrap();
    assert_eq!(rest.len(), RECORDS - 1);
    let pages = site.proxy.seen().len();
    assert!((4..=6).contains(&pages), "{pages} more pages");
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn a_query_that_is_dropped_reads_no_further() {
    let site = filled().await;
    let mut records = site.store.query("partition", "", QueryOptions::default());
    records.try_next().await.unwrap().unwrap();
    drop(records);
    assert_eq!(site.proxy.seen(), ["Query"]);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn a_limit_reaches_the_server() {
    let site = filled().await;
    // Small records behind the large ones: what was read is told by what the answer weighs.
    let limited = QueryOptions::default().with_limit(5);
    let found = site
        .store
        .query_all("partition", "", limited)
        .await
        .unwrap();
    assert_eq!(found.len(), 5);
    assert_eq!(site.proxy.seen(), ["Query"]);
    let bytes = site.proxy.answered();
    // Six items at most, in base64.
    assert!(
        bytes < 6 * BYTES * 4 / 3 + 20_000,
        "{bytes} bytes for 5 items of {BYTES}"
    );
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn expired_records_ahead_cost_few_requests() {
    let site = Site::new().await;
    let soon = site.clock_after(1);
    for number in 0..300 {
        let expired = record(&format!("{number:03}"), "").with_expire_at(soon);
        site.store.put(expired, Condition::IfAbsent).await.unwrap();
    }
    site.store
        .put(record("live", ""), Condition::IfAbsent)
        .await
        .unwrap();
    site.clock.set(soon);
    site.proxy.seen();
    let limited = QueryOptions::default().with_limit(1);
    let found = site
        .store
        .query_all("partition", "", limited)
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    // 2, 4, 8 … items: the ninth page is behind the 300th.
    let pages = site.proxy.seen().len();
    assert!(pages <= 9, "{pages} pages");
}
