//! Streams that break, and queries that are dropped.

use changestore_core::{ChangeStore, Condition, DocumentStore, DocumentStoreExt, QueryOptions};
use futures::TryStreamExt as _;

use super::*;
use support::proxy::Fault;

/// 6 MB of records under one pk: more than what is on its way before it is asked for.
const RECORDS: usize = 60;
const BYTES: usize = 100_000;

fn nth(number: usize) -> String {
    format!("{number:03}")
}

async fn filled() -> Site {
    let site = Site::new().await;
    for number in 0..RECORDS {
        let record = record(&nth(number), &"x".repeat(BYTES));
        site.store.put(record, Condition::IfAbsent).await.unwrap();
    }
    site.proxy.seen();
    site
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_stream_that_breaks_goes_on_behind_the_last_whole_row() {
    let site = filled().await;
    for (descending, limit) in [(false, 0), (true, 0), (false, 40), (true, 40)] {
        // Within a row, three times, each time further on.
        let cuts = [2, 5, 9].map(|rows| Some(Fault::CutAfter(rows * BYTES + BYTES / 2)));
        site.proxy.next(cuts);
        let options = QueryOptions::default()
            .with_descending(descending)
            .with_limit(limit);
        let found = site
            .store
            .query_all("partition", "", options)
            .await
            .unwrap();
        let wanted = if limit == 0 { RECORDS } else { limit };
        let expected = (0..wanted).map(|at| nth(if descending { RECORDS - 1 - at } else { at }));
        let found: Vec<_> = found.iter().map(|record| record.key.sk()).collect();
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!(site.proxy.left(), 0);
        assert_eq!(site.proxy.seen(), ["ReadRows"; 4]);
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn claims_come_whole_from_a_stream_that_breaks() {
    let site = Site::new().await;
    let metadata = format!("\"{}\"", "x".repeat(BYTES));
    for number in 0..20 {
        let mut claim = claim(&nth(number));
        claim.metadata = Metadata::new(metadata.clone()).unwrap();
        let _ = site.store.create(claim).await.unwrap();
    }
    site.proxy
        .next([3, 7].map(|rows| Some(Fault::CutAfter(rows * BYTES + 17))));
    let claims = site.store.get_by_uri("queue", "uri").await.unwrap();
    let found: Vec<_> = claims.iter().map(|claim| claim.key.request_id()).collect();
    assert_eq!(found, (0..20).map(nth).collect::<Vec<_>>());
    assert!(
        claims
            .iter()
            .all(|claim| claim.metadata.as_str() == metadata)
    );
    assert_eq!(site.proxy.left(), 0);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_query_is_one_request_that_is_made_when_it_is_asked_for() {
    let site = filled().await;
    let mut records = site.store.query("partition", "", QueryOptions::default());
    assert!(site.proxy.seen().is_empty());
    let first = records.try_next().await.unwrap().unwrap();
    assert_eq!(first.key, key("000"));
    let rest: Vec<_> = records.try_collect().await.unwrap();
    assert_eq!(rest.len(), RECORDS - 1);
    assert_eq!(site.proxy.seen(), ["ReadRows"]);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_query_that_is_dropped_asks_no_more() {
    let site = filled().await;
    let mut records = site.store.query("partition", "", QueryOptions::default());
    records.try_next().await.unwrap().unwrap();
    drop(records);
    site.store.get(&key("000")).await.unwrap();
    assert_eq!(site.proxy.seen(), ["ReadRows"; 2]);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn what_dies_while_a_stream_is_open_is_replaced_up_to_the_limit() {
    const DYING: usize = 20;
    const LIMIT: usize = 30;
    let site = Site::new().await;
    let soon = site.clock_after(1);
    let data = "x".repeat(BYTES);
    for number in 0..RECORDS {
        let mut new = record(&nth(number), &data);
        if number < DYING {
            new = new.with_expire_at(soon);
        }
        site.store.put(new, Condition::IfAbsent).await.unwrap();
    }
    site.proxy.seen();
    let limited = QueryOptions::default().with_limit(LIMIT);
    let mut records = site.store.query("partition", "", limited);
    let first = records.try_next().await.unwrap().unwrap();
    // The server goes on with what lived when the stream was begun.
    site.clock.set(soon);
    let rest: Vec<_> = records.try_collect().await.unwrap();
    let found: Vec<_> = std::iter::once(&first).chain(&rest).collect();
    assert_eq!(found.len(), LIMIT);
    // A few came with the first, of the same message.
    let came = found
        .iter()
        .take_while(|record| record.expire_at.is_some())
        .count();
    assert!((1..DYING).contains(&came), "{came}");
    let expected = (0..came).chain(DYING..).take(LIMIT).map(nth);
    let found = found.iter().map(|record| record.key.sk().to_owned());
    assert!(found.eq(expected));
    assert_eq!(site.proxy.seen(), ["ReadRows"; 2]);
}
