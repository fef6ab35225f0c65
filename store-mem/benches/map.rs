//! `store-mem` against the least that could do the same reads and writes: a sorted map behind a lock,
//! without versions, etags, conditions, expiry or partitions.
//!
//! `cargo bench --package store-mem`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound;
use std::sync::RwLock;

use bytes::Bytes;
use changestore_core::{Condition, DocumentStore, DocumentStoreExt, Key, NewRecord, QueryOptions};
use criterion::async_executor::FuturesExecutor;
use criterion::{Criterion, criterion_group, criterion_main};
use futures::executor::block_on;
use store_mem::MemStore;

const RECORDS: usize = 1_000_000;
const PAGE: usize = 50;

type PlainMap = RwLock<BTreeMap<(String, String), Bytes>>;

fn sort_key(record: usize) -> String {
    format!("record#{record:08}")
}

fn key(record: usize) -> Key {
    Key::new("partition", sort_key(record)).expect("a legal key")
}

fn data() -> Bytes {
    Bytes::from_static(&[7; 100])
}

fn filled_store() -> MemStore {
    let store = MemStore::new();
    for record in 0..RECORDS {
        let record = NewRecord::new(key(record), data()).expect("a legal record");
        block_on(store.put(record, Condition::None)).expect("put");
    }
    store
}

fn filled_map() -> PlainMap {
    let entries = (0..RECORDS).map(|record| (("partition".to_owned(), sort_key(record)), data()));
    RwLock::new(entries.collect())
}

/// Spreads the accesses over the records without the cost of a random number.
fn step(at: &mut usize) -> usize {
    *at = (*at + 611_953) % RECORDS;
    *at
}

fn compare(criterion: &mut Criterion) {
    let (store, map) = (filled_store(), filled_map());

    let mut group = criterion.benchmark_group("get");
    let mut at = 0;
    group.bench_function("store-mem", |bencher| {
        bencher.to_async(FuturesExecutor).iter(|| {
            let key = key(step(&mut at));
            let store = &store;
            async move { black_box(store.get(&key).await) }
        });
    });
    group.bench_function("plain map", |bencher| {
        bencher.iter(|| {
            let key = ("partition".to_owned(), sort_key(step(&mut at)));
            black_box(map.read().expect("no writer panics").get(&key).cloned())
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("put");
    group.bench_function("store-mem", |bencher| {
        bencher.to_async(FuturesExecutor).iter(|| {
            let record = NewRecord::new(key(step(&mut at)), data()).expect("a legal record");
            let store = &store;
            async move { black_box(store.put(record, Condition::None).await) }
        });
    });
    group.bench_function("plain map", |bencher| {
        bencher.iter(|| {
            let key = ("partition".to_owned(), sort_key(step(&mut at)));
            black_box(map.write().expect("no writer panics").insert(key, data()))
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("query of 50");
    group.bench_function("store-mem", |bencher| {
        bencher.to_async(FuturesExecutor).iter(|| {
            let options = QueryOptions::default()
                .with_limit(PAGE)
                .with_start_after(sort_key(step(&mut at)));
            let store = &store;
            async move { black_box(store.query_all("partition", "record#", options).await) }
        });
    });
    group.bench_function("plain map", |bencher| {
        bencher.iter(|| {
            let after = ("partition".to_owned(), sort_key(step(&mut at)));
            let map = map.read().expect("no writer panics");
            let range = map
                .range((Bound::Excluded(after), Bound::Unbounded))
                .take(PAGE);
            black_box(
                range
                    .map(|(key, data)| (key.clone(), data.clone()))
                    .collect::<Vec<_>>(),
            )
        });
    });
    group.finish();
}

criterion_group!(benches, compare);
criterion_main!(benches);
