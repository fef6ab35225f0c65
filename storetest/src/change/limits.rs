//! The portable limits of a claim's key, in bytes; what is over them is refused and not cut.

use changestore_core::limits::{QUEUE, REQUEST_ID, URI};
use changestore_core::{ChangeKey, ChangeStore, Limit};

use super::claims::{create, key, numbered, stored};
use crate::expect;
use crate::harness::Fixture;
use crate::texts::{longest, longest_of_wide_characters, with_another_end};

/// Stores claims of these keys and finds each of them.
async fn are_stored(store: &dyn ChangeStore, keys: impl IntoIterator<Item = ChangeKey>) {
    for (number, key) in keys.into_iter().enumerate() {
        let claim = numbered(key, number);
        create(store, &claim).await;
        assert_eq!(stored(store, &claim.key).await, claim);
    }
}

pub(super) async fn each_part_at_its_longest_is_stored(fixture: &Fixture<dyn ChangeStore>) {
    let keys = [
        key(&longest(QUEUE), "uri", "request"),
        key("queue", &longest(URI), "request"),
        key("queue", "uri", &longest(REQUEST_ID)),
    ];
    are_stored(&*fixture.store, keys).await;
}

pub(super) async fn all_parts_at_their_longest_at_once_are_stored(
    fixture: &Fixture<dyn ChangeStore>,
) {
    let keys = [
        key(&longest(QUEUE), &longest(URI), &longest(REQUEST_ID)),
        key(
            &longest_of_wide_characters(QUEUE),
            &longest_of_wide_characters(URI),
            &longest_of_wide_characters(REQUEST_ID),
        ),
    ];
    are_stored(&*fixture.store, keys).await;
}

pub(super) async fn the_last_byte_of_the_longest_part_counts(fixture: &Fixture<dyn ChangeStore>) {
    let (queue, uri, request) = (longest(QUEUE), longest(URI), longest(REQUEST_ID));
    let keys = [
        key(&queue, &uri, &request),
        key(&with_another_end(queue.clone()), &uri, &request),
        key(&queue, &with_another_end(uri.clone()), &request),
        key(&queue, &uri, &with_another_end(request.clone())),
    ];
    are_stored(&*fixture.store, keys).await;
    let found = fixture.store.get_by_uri(&queue, &uri).await.unwrap();
    assert_eq!(found.len(), 2, "of this uri there are two requests");
}

pub(super) async fn one_byte_more_is_refused(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let too_long = |limit: Limit| longest(limit) + "x";
    let over = |limit: Limit| limit.max_bytes() + 1;
    let refused = ChangeKey::new(too_long(QUEUE), "uri", "request");
    expect::too_large(refused, QUEUE, over(QUEUE));
    let refused = ChangeKey::new("queue", too_long(URI), "request");
    expect::too_large(refused, URI, over(URI));
    let refused = ChangeKey::new("queue", "uri", too_long(REQUEST_ID));
    expect::too_large(refused, REQUEST_ID, over(REQUEST_ID));
    // The two that arrive at the store as plain text.
    let refused = store.get_by_uri(&too_long(QUEUE), "uri").await;
    expect::too_large(refused, QUEUE, over(QUEUE));
    let refused = store.get_by_uri("queue", &too_long(URI)).await;
    expect::too_large(refused, URI, over(URI));
}

pub(super) async fn a_text_over_the_limit_is_not_cut_to_it(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let cut = numbered(key("queue", &longest(URI), "request"), 0);
    create(store, &cut).await;
    // Cutting would find the claim.
    let refused = store.get_by_uri("queue", &(longest(URI) + "x")).await;
    expect::too_large(refused, URI, URI.max_bytes() + 1);
    assert_eq!(stored(store, &cut.key).await, cut);
}

pub(super) async fn characters_are_counted_in_bytes(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    are_stored(
        store,
        [
            key(&longest_of_wide_characters(QUEUE), "uri", "request"),
            key("queue", &longest_of_wide_characters(URI), "request"),
            key("queue", "uri", &longest_of_wide_characters(REQUEST_ID)),
        ],
    )
    .await;
    // 255 characters and 256 bytes.
    let queue = "x".repeat(254) + "é";
    expect::too_large(ChangeKey::new(queue.clone(), "uri", "request"), QUEUE, 256);
    expect::too_large(store.get_by_uri(&queue, "uri").await, QUEUE, 256);
}

pub(super) async fn empty_parts_are_refused(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    expect::invalid(ChangeKey::new("", "uri", "request"), "queue");
    expect::invalid(ChangeKey::new("queue", "", "request"), "uri");
    expect::invalid(ChangeKey::new("queue", "uri", ""), "request_id");
    expect::invalid(store.get_by_uri("", "uri").await, "queue");
    expect::invalid(store.get_by_uri("queue", "").await, "uri");
}

pub(super) async fn nul_is_refused(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    for text in ["\0", "a\0", "\0a", "a\0b"] {
        expect::invalid(ChangeKey::new(text, "uri", "request"), "queue");
        expect::invalid(ChangeKey::new("queue", text, "request"), "uri");
        expect::invalid(ChangeKey::new("queue", "uri", text), "request_id");
        expect::invalid(store.get_by_uri(text, "uri").await, "queue");
        expect::invalid(store.get_by_uri("queue", text).await, "uri");
    }
}
