//! `get_by_uri`: every claim of exactly that pair, in the order of the request ids.

use changestore_core::limits::METADATA;
use changestore_core::{ChangeRecord, ChangeStore};

use super::claims::{claim, create, json, key, numbered, update, updated};
use crate::harness::Fixture;
use crate::race::for_each;

pub(super) async fn without_claims_the_list_is_empty(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), []);
    create(store, &claim("queue", "another uri", "request")).await;
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), []);
}

pub(super) async fn a_queue_does_not_see_another_queues_claims(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let queues = ["main", "main/", "release", "main2", "mai"];
    for (number, queue) in queues.iter().enumerate() {
        create(store, &numbered(key(queue, "uri", "request"), number)).await;
    }
    for (number, queue) in queues.iter().enumerate() {
        let only = numbered(key(queue, "uri", "request"), number);
        assert_eq!(store.get_by_uri(queue, "uri").await.unwrap(), [only]);
    }
    assert_eq!(store.get_by_uri("ma", "uri").await.unwrap(), []);
}

pub(super) async fn a_prefix_of_a_uri_is_another_uri(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let uris = [
        "github://github.com/o/r/pull/7",
        "github://github.com/o/r/pull/7/",
        "github://github.com/o/r/pull/7/3f1c",
        "github://github.com/o/r/pull/77",
        "github://github.com/o/r/pull/%",
    ];
    for uri in uris {
        create(store, &claim("queue", uri, "request")).await;
    }
    for uri in uris {
        let only = claim("queue", uri, "request");
        assert_eq!(store.get_by_uri("queue", uri).await.unwrap(), [only]);
    }
    for nobody in [
        "github://github.com/o/r/pull/",
        "g",
        "github://github.com/o/r/pull/_",
    ] {
        assert_eq!(store.get_by_uri("queue", nobody).await.unwrap(), []);
    }
}

pub(super) async fn the_order_is_that_of_the_request_ids_bytes(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    // In this order. UTF-16 puts U+1F600 before U+E000; a locale ignores case and punctuation first.
    let ordered = [
        "\u{1}",
        "!",
        "10",
        "2",
        "9",
        "A",
        "Z",
        "_",
        "a",
        "a ",
        "a!",
        "a-b",
        "aB",
        "ab",
        "b",
        "z",
        "\u{7f}",
        "\u{80}",
        "\u{e9}",
        "\u{7ff}",
        "\u{800}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{ffff}",
        "\u{1f600}",
        "\u{10ffff}",
    ];
    // Written from both ends at once, so that the order of writing is none of the possible answers.
    let mut shuffled: Vec<_> = ordered.iter().rev().step_by(2).collect();
    shuffled.extend(ordered.iter().rev().skip(1).step_by(2).rev());
    for request in shuffled {
        create(store, &claim("queue", "uri", request)).await;
    }
    let found = store.get_by_uri("queue", "uri").await.unwrap();
    let requests: Vec<_> = found.iter().map(|claim| claim.key.request_id()).collect();
    assert_eq!(requests, ordered);
}

pub(super) async fn a_thousand_requests_on_one_uri_all_come(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claims: Vec<_> = (0..1_000)
        .map(|number| numbered(key("queue", "uri", &format!("{number:04}")), number))
        .collect();
    for_each(claims.iter().rev(), |claim| create(store, claim)).await;
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), claims);
}

pub(super) async fn claims_of_several_megabytes_all_come(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    // More than a server sends in one page: DynamoDB's holds 1 MB.
    let claims: Vec<_> = (0..10)
        .map(|number: usize| {
            let filler = number.to_string().repeat(METADATA.max_bytes() - 2);
            ChangeRecord {
                metadata: json(format!("\"{filler}\"")),
                ..claim("queue", "uri", &number.to_string())
            }
        })
        .collect();
    for_each(&claims, |claim| create(store, claim)).await;
    // Not `assert_eq`: it would print the megabytes' lengths only, which say nothing.
    let found = store.get_by_uri("queue", "uri").await.unwrap();
    assert_eq!(found.len(), claims.len());
    for (found, claim) in found.iter().zip(&claims) {
        assert!(found == claim, "{} is not as it was written", claim.key);
    }
}

pub(super) async fn nothing_is_filtered_by_owner_or_state(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let states = [
        "null",
        "{}",
        r#"{"state": "landed"}"#,
        r#"{"deleted": true}"#,
        r#"{"owner": ""}"#,
    ];
    let mut claims = Vec::new();
    for (number, state) in states.into_iter().enumerate() {
        let claim = ChangeRecord {
            metadata: json(state),
            ..claim("queue", "uri", &number.to_string())
        };
        create(store, &claim).await;
        claims.push(claim);
    }
    let change = update(1, 9);
    store
        .update_metadata(&claims[0].key, change.clone())
        .await
        .unwrap();
    claims[0] = updated(&claims[0], &change);
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), claims);
}
