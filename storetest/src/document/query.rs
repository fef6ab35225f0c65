//! `query`: a partition or a prefix of it, in order, in both directions, up to a limit.

use changestore_core::{DocumentStore, DocumentStoreExt, QueryOptions};
use futures::TryStreamExt;

use super::records::{PK, advance, in_millis, put, record, sort_keys};
use crate::harness::Fixture;

/// In the order of their bytes. UTF-16 puts U+1F600 before U+E000; a locale ignores case first.
const ORDERED: &[&str] = &[
    "\u{1}",
    " ",
    "!",
    "10",
    "2",
    "9",
    "A",
    "B",
    "Z",
    "_",
    "a",
    "a ",
    "a!",
    "a-b",
    "aB",
    "ab",
    "b",
    "\u{7f}",
    "\u{80}",
    "\u{e9}",
    "\u{7ff}",
    "\u{800}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{ffff}",
    "\u{10000}",
    "\u{1f600}",
    "\u{10ffff}",
];

fn ascending() -> QueryOptions {
    QueryOptions::default()
}

fn descending() -> QueryOptions {
    QueryOptions::default().with_descending(true)
}

async fn put_all(store: &dyn DocumentStore, sks: &[&str]) {
    // Not in their order, so that the order of writing is none of the possible answers.
    for sk in sks.iter().step_by(2).chain(sks.iter().skip(1).step_by(2)) {
        put(store, record(sk, sk)).await;
    }
}

pub(super) async fn the_order_is_that_of_the_sort_keys_bytes(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store, ORDERED).await;
    assert_eq!(sort_keys(store, "", ascending()).await, ORDERED);
}

pub(super) async fn descending_is_the_same_backwards(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store, ORDERED).await;
    let mut found = sort_keys(store, "", descending()).await;
    found.reverse();
    assert_eq!(found, ORDERED);
    put_all(store, &["x#1", "x#2", "x#3", "y#1"]).await;
    let found = sort_keys(store, "x#", descending()).await;
    assert_eq!(found, ["x#3", "x#2", "x#1"]);
}

pub(super) async fn records_come_whole(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut written = Vec::new();
    for sk in ["a", "b", "c"] {
        put(store, record(sk, "before")).await;
        let expire_at = (sk == "b").then(|| in_millis(fixture, 1_000));
        let new = record(sk, format!("\0{sk}\u{1f600}")).with_expire_at(expire_at);
        written.push(put(store, new).await);
    }
    assert_eq!(store.query_all(PK, "", ascending()).await.unwrap(), written);
    written.reverse();
    assert_eq!(
        store.query_all(PK, "", descending()).await.unwrap(),
        written
    );
}

pub(super) async fn where_nothing_matches_it_is_empty(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for options in [ascending(), descending(), ascending().with_limit(5)] {
        assert_eq!(sort_keys(store, "", options).await, [""; 0]);
    }
    put_all(store, &["a", "c"]).await;
    for prefix in ["b", "aa", "0", "d", "A"] {
        for options in [ascending(), descending(), descending().with_limit(5)] {
            assert_eq!(sort_keys(store, prefix, options).await, [""; 0], "{prefix}");
        }
    }
}

pub(super) async fn the_limit_is_the_most_that_come(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let sks = ["a", "b", "c", "d", "e"];
    put_all(store, &sks).await;
    let backwards = ["e", "d", "c", "b", "a"];
    for limit in 1..=sks.len() {
        let found = sort_keys(store, "", ascending().with_limit(limit)).await;
        assert_eq!(found, sks[..limit]);
        let found = sort_keys(store, "", descending().with_limit(limit)).await;
        assert_eq!(found, backwards[..limit]);
    }
}

pub(super) async fn a_limit_of_zero_is_none(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store, ORDERED).await;
    let found = sort_keys(store, "", ascending().with_limit(0)).await;
    assert_eq!(found, ORDERED);
    let found = sort_keys(store, "", descending().with_limit(0)).await;
    assert_eq!(found.len(), ORDERED.len());
}

pub(super) async fn a_limit_over_what_is_there_asks_for_all(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store, ORDERED).await;
    let greater_than_any_database_takes = usize::MAX;
    for limit in [
        ORDERED.len() + 1,
        1_000_000,
        greater_than_any_database_takes,
    ] {
        let found = sort_keys(store, "", ascending().with_limit(limit)).await;
        assert_eq!(found, ORDERED, "limit {limit}");
        let found = sort_keys(store, "", descending().with_limit(limit)).await;
        assert_eq!(found.len(), ORDERED.len(), "limit {limit}");
    }
}

pub(super) async fn limit_does_not_count_expired_records(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 10);
    for number in 0..60 {
        let expire_at = (number % 3 != 2).then_some(soon);
        let new = record(&format!("{number:02}"), "").with_expire_at(expire_at);
        put(store, new).await;
    }
    let first = sort_keys(store, "", ascending().with_limit(3)).await;
    assert_eq!(first, ["00", "01", "02"]);
    advance(fixture, 10);
    let first = sort_keys(store, "", ascending().with_limit(3)).await;
    assert_eq!(first, ["02", "05", "08"]);
    let last = sort_keys(store, "", descending().with_limit(3)).await;
    assert_eq!(last, ["59", "56", "53"]);
    let in_between = sort_keys(store, "2", ascending().with_limit(3)).await;
    assert_eq!(in_between, ["20", "23", "26"]);
    assert_eq!(
        sort_keys(store, "", ascending().with_limit(100))
            .await
            .len(),
        20
    );
}

pub(super) async fn a_refused_argument_ends_the_stream(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put(store, record("sk", "")).await;
    let mut stream = store.query(PK, "\0", ascending());
    assert!(stream.try_next().await.is_err(), "the error is an item");
    assert_eq!(stream.try_next().await.unwrap(), None, "and the last one");
}

/// The definition in three lines: what any range, page or filter must come down to.
fn expected(sks: &[&str], prefix: &str, options: &QueryOptions) -> Vec<String> {
    let mut sks: Vec<_> = sks.iter().filter(|sk| sk.starts_with(prefix)).collect();
    sks.sort_unstable_by_key(|sk| sk.as_bytes());
    if options.descending {
        sks.reverse();
    }
    if let Some(after) = options.start_after.as_deref() {
        let behind = |sk: &str| {
            if options.descending {
                sk < after
            } else {
                sk > after
            }
        };
        sks.retain(|sk| behind(sk));
    }
    if options.limit > 0 {
        sks.truncate(options.limit);
    }
    sks.into_iter().map(ToString::to_string).collect()
}

pub(super) async fn every_combination_of_arguments_is_its_definition(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let sks = [
        "a",
        "a%",
        "a_",
        "a/",
        "a/1",
        "a/2",
        "a/\u{e000}",
        "a/\u{1f600}",
        "a0",
        "ab",
        "b",
        "b/1",
        "É",
    ];
    put_all(store, &sks).await;
    let texts = [
        "a",
        "a/",
        "a/2",
        "a/\u{f000}",
        "aa",
        "b",
        "b/1",
        "\u{1}",
        "\u{10ffff}",
    ];
    for prefix in ["", "a", "a/", "a%", "b/1", "c"] {
        for start_after in texts.map(Some).into_iter().chain([None]) {
            for limit in [0, 1, 3] {
                for descending in [false, true] {
                    let mut options = ascending().with_descending(descending).with_limit(limit);
                    options.start_after = start_after.map(str::to_owned);
                    let expected = expected(&sks, prefix, &options);
                    let found = sort_keys(store, prefix, options.clone()).await;
                    assert_eq!(found, expected, "prefix {prefix:?}, {options:?}");
                }
            }
        }
    }
}
