//! Queries of more than a page: nothing is lost, doubled or out of order where pages meet.

use changestore_core::limits::DATA;
use changestore_core::{DocumentStore, DocumentStoreExt, QueryOptions};
use futures::TryStreamExt;

use super::records::{PK, advance, in_millis, key, put, record, sort_keys};
use crate::harness::Fixture;
use crate::race::for_each;

const MANY: usize = 10_000;

fn nth(number: usize) -> String {
    format!("{number:05}")
}

pub(super) async fn ten_thousand_records_come_once_and_in_order(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    for_each(0..MANY, async |number| {
        put(store, record(&nth(number), "")).await;
    })
    .await;
    let ascending = QueryOptions::default();
    let descending = QueryOptions::default().with_descending(true);

    let all = sort_keys(store, "", ascending.clone()).await;
    assert!(
        all.iter().cloned().eq((0..MANY).map(nth)),
        "{} of {MANY}",
        all.len()
    );
    let all = sort_keys(store, "", descending.clone()).await;
    assert!(
        all.iter().cloned().eq((0..MANY).rev().map(nth)),
        "{} of {MANY}",
        all.len()
    );

    // Limits on both sides of the usual sizes of pages, and over several of them.
    for limit in [
        1,
        99,
        100,
        101,
        999,
        1_000,
        1_001,
        2_500,
        MANY - 1,
        MANY,
        MANY + 1,
    ] {
        let wanted = limit.min(MANY);
        let first = sort_keys(store, "", ascending.clone().with_limit(limit)).await;
        assert!(first.into_iter().eq((0..wanted).map(nth)), "limit {limit}");
        let last = sort_keys(store, "", descending.clone().with_limit(limit)).await;
        let expected = (MANY - wanted..MANY).rev().map(nth);
        assert!(last.into_iter().eq(expected), "limit {limit}, descending");
    }

    let start = ascending.with_start_after(nth(4_321)).with_limit(3_000);
    let found = sort_keys(store, "", start).await;
    assert!(found.into_iter().eq((4_322..7_322).map(nth)));
    let start = descending.with_start_after(nth(4_321));
    let found = sort_keys(store, "0", start).await;
    assert!(found.into_iter().eq((0..4_321).rev().map(nth)));
}

pub(super) async fn thousands_of_expired_ones_ahead_hide_nothing(
    fixture: &Fixture<dyn DocumentStore>,
) {
    const EXPIRED: usize = 3_000;
    let store = &*fixture.store;
    let soon = in_millis(fixture, 10);
    for_each(0..EXPIRED, async |number| {
        let new = record(&nth(number), "").with_expire_at(soon);
        put(store, new).await;
    })
    .await;
    let live: Vec<_> = (EXPIRED..EXPIRED + 5).map(nth).collect();
    for sk in &live {
        put(store, record(sk, "")).await;
    }
    advance(fixture, 10);
    for limit in [0, 1, 5, 100] {
        let found = sort_keys(store, "", QueryOptions::default().with_limit(limit)).await;
        let wanted = if limit == 0 { 5 } else { limit.min(5) };
        assert_eq!(found, live[..wanted], "limit {limit}");
    }
    // From the other side they come behind.
    let descending = QueryOptions::default().with_descending(true);
    let mut found = sort_keys(store, "", descending.clone()).await;
    found.reverse();
    assert_eq!(found, live);
    let behind = descending.with_start_after(&live[0]);
    assert_eq!(sort_keys(store, "", behind).await, [""; 0]);
}

pub(super) async fn counters_ahead_hide_nothing(fixture: &Fixture<dyn DocumentStore>) {
    const COUNTERS: usize = 1_500;
    let store = &*fixture.store;
    for_each(0..COUNTERS, async |number| {
        let counter = key(PK, &nth(number));
        store.increment(&counter, 1, None).await.unwrap();
    })
    .await;
    let live = nth(COUNTERS);
    put(store, record(&live, "")).await;
    for limit in [0, 1, 2] {
        let found = sort_keys(store, "", QueryOptions::default().with_limit(limit)).await;
        assert_eq!(found, std::slice::from_ref(&live), "limit {limit}");
    }
}

pub(super) async fn records_of_many_megabytes_come_whole(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    // 9 MiB in all, of very different sizes: over DynamoDB's page of 1 MB and gRPC's of 4 MiB.
    let size = |number: usize| match number % 3 {
        0 => DATA.max_bytes(),
        1 => DATA.max_bytes() - number,
        _ => number,
    };
    let data = |number: usize| vec![u8::try_from(number).unwrap(); size(number)];
    for_each(0..36, async |number| {
        put(store, record(&nth(number), data(number))).await;
    })
    .await;
    for (descending, limit) in [(false, 0), (true, 0), (false, 20), (true, 20)] {
        let options = QueryOptions::default()
            .with_descending(descending)
            .with_limit(limit);
        let found = store.query_all(PK, "", options).await.unwrap();
        let wanted = if limit == 0 { 36 } else { limit };
        assert_eq!(found.len(), wanted);
        for (at, found) in found.into_iter().enumerate() {
            let number = if descending { 35 - at } else { at };
            assert_eq!(found.key.sk(), nth(number));
            // Not `assert_eq`: it would print megabytes.
            assert!(
                found.data == data(number),
                "record {number} is not as written"
            );
        }
    }
}

pub(super) async fn a_page_is_read_when_it_is_asked_for(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for_each(0..3_000, async |number| {
        put(store, record(&nth(number), vec![0; 1024])).await;
    })
    .await;
    // Taken one by one, with other work in between, the stream is none the worse for it.
    let mut stream = store.query(PK, "", QueryOptions::default());
    let mut number = 0;
    while let Some(record) = stream.try_next().await.unwrap() {
        assert_eq!(record.key.sk(), nth(number));
        if number % 500 == 0 {
            let other = store.get(&key(PK, &nth(2_999 - number))).await;
            assert_eq!(other.unwrap().data.len(), 1024);
        }
        number += 1;
    }
    assert_eq!(number, 3_000);
}
