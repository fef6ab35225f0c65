//! `start_after`: exclusive in both directions, wherever it lies.

use changestore_core::{Condition, DocumentStore, QueryOptions};

use super::records::{PK, advance, in_millis, key, put, record, sort_keys};
use crate::harness::Fixture;

const SKS: [&str; 6] = ["a", "m#1", "m#2", "m#3", "m#4", "z"];

async fn put_all(store: &dyn DocumentStore) {
    for sk in SKS {
        put(store, record(sk, "")).await;
    }
}

/// The sort keys under the prefix behind the start, upwards and downwards.
async fn behind(
    store: &dyn DocumentStore,
    prefix: &str,
    start_after: &str,
) -> (Vec<String>, Vec<String>) {
    let upwards = QueryOptions::default().with_start_after(start_after);
    let downwards = upwards.clone().with_descending(true);
    (
        sort_keys(store, prefix, upwards).await,
        sort_keys(store, prefix, downwards).await,
    )
}

#[track_caller]
fn are<const U: usize, const D: usize>(
    found: &(Vec<String>, Vec<String>),
    upwards: [&str; U],
    downwards: [&str; D],
) {
    assert_eq!(found.0, upwards, "upwards");
    assert_eq!(found.1, downwards, "downwards");
}

pub(super) async fn the_record_itself_does_not_come(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    are(&behind(store, "m#", "m#2").await, ["m#3", "m#4"], ["m#1"]);
    are(
        &behind(store, "", "m#4").await,
        ["z"],
        ["m#3", "m#2", "m#1", "a"],
    );
    are(
        &behind(store, "", "a").await,
        ["m#1", "m#2", "m#3", "m#4", "z"],
        [],
    );
    are(
        &behind(store, "", "z").await,
        [],
        ["m#4", "m#3", "m#2", "m#1", "a"],
    );
}

pub(super) async fn no_record_need_have_it(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    are(
        &behind(store, "m#", "m#25").await,
        ["m#3", "m#4"],
        ["m#2", "m#1"],
    );
    are(
        &behind(store, "m#", "m#2\u{1}").await,
        ["m#3", "m#4"],
        ["m#2", "m#1"],
    );
    are(
        &behind(store, "", "n").await,
        ["z"],
        ["m#4", "m#3", "m#2", "m#1", "a"],
    );
}

pub(super) async fn before_the_prefix_it_cuts_nothing_or_all(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    for before in ["\u{1}", "a", "b", "m", "m\"", "M#9"] {
        let found = behind(store, "m#", before).await;
        are(&found, ["m#1", "m#2", "m#3", "m#4"], []);
    }
}

pub(super) async fn behind_the_prefix_it_cuts_all_or_nothing(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    for after in ["m$", "m#\u{10ffff}\u{10ffff}", "n", "z", "zz", "\u{10ffff}"] {
        let found = behind(store, "m#", after).await;
        are(&found, [], ["m#4", "m#3", "m#2", "m#1"]);
    }
}

pub(super) async fn it_may_equal_the_prefix(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    are(
        &behind(store, "m#", "m#").await,
        ["m#1", "m#2", "m#3", "m#4"],
        [],
    );
    // Also when a record has it.
    put(store, record("m#", "")).await;
    are(
        &behind(store, "m#", "m#").await,
        ["m#1", "m#2", "m#3", "m#4"],
        [],
    );
    are(&behind(store, "m#1", "m#1").await, [], []);
}

pub(super) async fn its_record_may_be_gone(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    let soon = in_millis(fixture, 10);
    put(store, record("m#2", "").with_expire_at(soon)).await;
    are(&behind(store, "m#", "m#2").await, ["m#3", "m#4"], ["m#1"]);
    advance(fixture, 10);
    are(&behind(store, "m#", "m#2").await, ["m#3", "m#4"], ["m#1"]);
    let deleted = store.delete(&key(PK, "m#3"), Condition::None).await;
    deleted.unwrap();
    are(&behind(store, "m#", "m#3").await, ["m#4"], ["m#1"]);
}

pub(super) async fn it_may_be_a_counter(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    put_all(store).await;
    store.increment(&key(PK, "m#25"), 1, None).await.unwrap();
    are(
        &behind(store, "m#", "m#25").await,
        ["m#3", "m#4"],
        ["m#2", "m#1"],
    );
}

pub(super) async fn the_last_key_of_a_page_leads_to_the_next(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let sks: Vec<_> = (0..100).map(|number| format!("{number:02}")).collect();
    for sk in &sks {
        put(store, record(sk, "")).await;
    }
    for descending in [false, true] {
        for limit in [1, 7, 33, 50, 100] {
            let mut options = QueryOptions::default()
                .with_descending(descending)
                .with_limit(limit);
            let mut all = Vec::new();
            loop {
                let page = sort_keys(store, "", options.clone()).await;
                let Some(last) = page.last() else { break };
                options = options.with_start_after(last);
                all.extend(page);
            }
            if descending {
                all.reverse();
            }
            assert_eq!(all, sks, "pages of {limit}");
        }
    }
}
