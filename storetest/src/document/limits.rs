//! The portable limits of keys and query arguments, in bytes.

use changestore_core::limits::{PARTITION_KEY, SORT_KEY};
use changestore_core::{Condition, DocumentStore, DocumentStoreExt, Key, QueryOptions};

use super::records::{is_stored, key, put, record_at};
use crate::expect;
use crate::harness::Fixture;
use crate::texts::{longest, longest_of_wide_characters, with_another_end};

/// Each key takes a record, and shows it to get and to query.
async fn are_stored(store: &dyn DocumentStore, keys: impl IntoIterator<Item = Key>) {
    for (number, key) in keys.into_iter().enumerate() {
        let new = record_at(key.clone(), number.to_string());
        let written = store.put(new, Condition::IfAbsent).await.unwrap();
        is_stored(store, &written).await;
        let all = store.query_all(key.pk(), key.sk(), QueryOptions::default());
        assert_eq!(all.await.unwrap(), [written]);
    }
}

pub(super) async fn each_part_at_its_longest_is_stored(fixture: &Fixture<dyn DocumentStore>) {
    let keys = [
        key(&longest(PARTITION_KEY), "sk"),
        key("pk", &longest(SORT_KEY)),
        key(&longest_of_wide_characters(PARTITION_KEY), "sk"),
        key("pk", &longest_of_wide_characters(SORT_KEY)),
    ];
    are_stored(&*fixture.store, keys).await;
}

pub(super) async fn both_parts_at_their_longest_at_once_are_stored(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let keys = [
        key(&longest(PARTITION_KEY), &longest(SORT_KEY)),
        key(
            &longest_of_wide_characters(PARTITION_KEY),
            &longest_of_wide_characters(SORT_KEY),
        ),
        // What grows most where an encoding escapes it.
        key(&"\u{1}".repeat(1024), &"\u{1}".repeat(1024)),
    ];
    are_stored(&*fixture.store, keys).await;
}

pub(super) async fn the_last_byte_of_the_longest_part_counts(fixture: &Fixture<dyn DocumentStore>) {
    let (pk, sk) = (longest(PARTITION_KEY), longest(SORT_KEY));
    let keys = [
        key(&pk, &sk),
        key(&with_another_end(pk.clone()), &sk),
        key(&pk, &with_another_end(sk.clone())),
    ];
    are_stored(&*fixture.store, keys).await;
}

pub(super) async fn a_counter_may_have_the_longest_key(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(&longest(PARTITION_KEY), &longest(SORT_KEY));
    assert_eq!(store.increment(&key, 5, None).await.unwrap(), 5);
    assert_eq!(store.increment(&key, 5, None).await.unwrap(), 10);
}

pub(super) async fn one_byte_more_is_refused(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let (pk, sk) = (longest(PARTITION_KEY), longest(SORT_KEY));
    // What cutting would find.
    put(store, record_at(key(&pk, &sk), "")).await;
    let (pk, sk) = (pk + "x", sk + "x");
    expect::too_large(Key::new(pk.clone(), "sk"), PARTITION_KEY, 1025);
    expect::too_large(Key::new("pk", sk.clone()), SORT_KEY, 1025);
    let all = QueryOptions::default();
    let refused = store.query_all(&pk, "", all.clone()).await;
    expect::too_large(refused, PARTITION_KEY, 1025);
    let refused = store.query_all("pk", &sk, all.clone()).await;
    expect::too_large_field(refused, "sk_prefix", 1024, 1025);
    let refused = store.query_all("pk", "", all.with_start_after(sk)).await;
    expect::too_large_field(refused, "start_after", 1024, 1025);
}

pub(super) async fn characters_are_counted_in_bytes(_: &Fixture<dyn DocumentStore>) {
    // 1,024 characters and 1,025 bytes.
    let text = "x".repeat(1023) + "é";
    expect::too_large(Key::new(text.clone(), "sk"), PARTITION_KEY, 1025);
    expect::too_large(Key::new("pk", text), SORT_KEY, 1025);
}

pub(super) async fn empty_parts_are_refused(fixture: &Fixture<dyn DocumentStore>) {
    expect::invalid(Key::new("", "sk"), "pk");
    expect::invalid(Key::new("pk", ""), "sk");
    let empty_pk = fixture.store.query_all("", "", QueryOptions::default());
    expect::invalid(empty_pk.await, "pk");
    let options = QueryOptions::default().with_start_after("");
    let empty_start = fixture.store.query_all("pk", "", options);
    expect::invalid(empty_start.await, "start_after");
}

pub(super) async fn nul_is_refused(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for text in ["\0", "a\0", "\0a", "a\0b"] {
        expect::invalid(Key::new(text, "sk"), "pk");
        expect::invalid(Key::new("pk", text), "sk");
        let refused = store.query_all(text, "", QueryOptions::default()).await;
        expect::invalid(refused, "pk");
        let refused = store.query_all("pk", text, QueryOptions::default()).await;
        expect::invalid(refused, "sk_prefix");
        let options = QueryOptions::default().with_start_after(text);
        let refused = store.query_all("pk", "", options).await;
        expect::invalid(refused, "start_after");
    }
}
