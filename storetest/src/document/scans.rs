//! A query as a stream: dropped early, kept long, and with others writing meanwhile.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use changestore_core::{Condition, DocumentStore, DocumentStoreExt, QueryOptions, RecordStream};
use futures::TryStreamExt;
use tokio::sync::Barrier;

use super::records::{PK, advance, in_millis, is_stored, key, put, record, sort_keys};
use crate::harness::Fixture;
use crate::race::for_each;

fn nth(number: usize) -> String {
    format!("{number:05}")
}

async fn put_many(store: &dyn DocumentStore, count: usize) {
    for_each(0..count, async |number| {
        put(store, record(&nth(number), "")).await;
    })
    .await;
}

pub(super) async fn a_stream_may_be_dropped_early(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_many(store, 2_000).await;
    // More of them than a pool has connections.
    for taken in (0..200).map(|round| round % 5) {
        let mut stream = store.query(PK, "", QueryOptions::default());
        for number in 0..taken {
            let record = stream.try_next().await.unwrap().unwrap();
            assert_eq!(record.key.sk(), nth(number));
        }
    }
    let written = put(store, record(&nth(0), "written after all that")).await;
    is_stored(store, &written).await;
    assert_eq!(
        sort_keys(store, "", QueryOptions::default()).await.len(),
        2_000
    );
}

pub(super) async fn open_streams_hinder_nobody(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_many(store, 1_500).await;
    let mut open: Vec<RecordStream> = Vec::new();
    for _ in 0..40 {
        let mut stream = store.query(PK, "", QueryOptions::default());
        stream.try_next().await.unwrap().unwrap();
        open.push(stream);
    }
    // While all of them are in the middle of their first page:
    let written = put(store, record("written meanwhile", "")).await;
    is_stored(store, &written).await;
    store.delete(&written.key, Condition::None).await.unwrap();
    store.increment(&key(PK, "counter"), 1, None).await.unwrap();
    // And all of them can go on.
    for stream in open {
        let rest: Vec<_> = stream.try_collect().await.unwrap();
        assert_eq!(rest.len(), 1_499);
    }
}

pub(super) async fn a_stream_outlives_what_it_was_made_from(fixture: &Fixture<dyn DocumentStore>) {
    put_many(&*fixture.store, 1_500).await;
    let stream: RecordStream = {
        let store = Arc::clone(&fixture.store);
        let (pk, prefix) = (PK.to_owned(), "0".to_owned());
        store.query(&pk, &prefix, QueryOptions::default())
    };
    let elsewhere = tokio::spawn(stream.try_collect::<Vec<_>>());
    assert_eq!(elsewhere.await.unwrap().unwrap().len(), 1_500);
}

pub(super) async fn nothing_happens_before_it_is_polled(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let stream = store.query(PK, "", QueryOptions::default());
    put_many(store, 3).await;
    let found: Vec<_> = stream.try_collect().await.unwrap();
    assert_eq!(found.len(), 3);
}

pub(super) async fn what_nobody_touches_comes_exactly_once(fixture: &Fixture<dyn DocumentStore>) {
    const RECORDS: usize = 2_000;
    let store = &fixture.store;
    put_many(&**store, RECORDS).await;
    let done = Arc::new(AtomicBool::new(false));
    let all_write = Arc::new(Barrier::new(4));
    let writers: Vec<_> = (1..4)
        .map(|writer| {
            let (store, done) = (Arc::clone(store), Arc::clone(&done));
            let all_write = Arc::clone(&all_write);
            tokio::spawn(async move {
                for round in 0_usize.. {
                    // Over the whole partition, in leaps: ahead of the scans and behind them.
                    let number = (round * 317) % (RECORDS / 4) * 4 + writer;
                    match (round + writer) % 3 {
                        0 => drop(store.delete(&key(PK, &nth(number)), Condition::None).await),
                        1 => drop(put(&*store, record(&nth(number), "again")).await),
                        _ => drop(put(&*store, record(&format!("{}+", nth(number)), "")).await),
                    }
                    if round == 0 {
                        all_write.wait().await;
                    }
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    all_write.wait().await;
    for scan in 0..6 {
        let options = QueryOptions::default().with_descending(scan % 2 == 1);
        let found = store.query_all(PK, "", options).await.unwrap();
        let mut sks: Vec<_> = found.iter().map(|record| record.key.sk()).collect();
        let distinct: HashSet<_> = sks.iter().copied().collect();
        assert_eq!(distinct.len(), sks.len(), "a record came twice");
        if scan % 2 == 1 {
            sks.reverse();
        }
        assert!(sks.is_sorted(), "out of order");
        for number in (0..RECORDS).step_by(4) {
            assert!(
                distinct.contains(&*nth(number)),
                "record {number} is missing"
            );
        }
    }
    done.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
}

pub(super) async fn a_clock_that_moves_meanwhile_hides_no_living_record(
    fixture: &Fixture<dyn DocumentStore>,
) {
    const RECORDS: usize = 3_000;
    let store = &*fixture.store;
    let soon = in_millis(fixture, 10);
    for_each(0..RECORDS, async |number| {
        let expire_at = (number % 2 == 1).then_some(soon);
        put(store, record(&nth(number), "").with_expire_at(expire_at)).await;
    })
    .await;
    let mut stream = store.query(PK, "", QueryOptions::default());
    stream.try_next().await.unwrap().unwrap();
    advance(fixture, 10);
    // The page that was under way may hold some that expire now; the others come once, as ever.
    let rest: Vec<_> = stream.try_collect().await.unwrap();
    let living = (2..RECORDS).step_by(2).map(nth);
    let found = rest.iter().filter(|record| record.expire_at.is_none());
    assert!(found.map(|record| record.key.sk()).eq(living));
}
