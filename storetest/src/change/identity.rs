//! A claim is the exact bytes of its triple.

use changestore_core::{ChangeKey, ChangeRecord, ChangeStore, CreateOutcome};

use super::claims::{create, key, numbered};
use crate::harness::Fixture;
use crate::race::for_each;
use crate::texts::{CONFUSABLE, SEPARATORS};

/// Creates a claim at each key, and finds at each URI exactly the one that was put there.
async fn are_all_different(store: &dyn ChangeStore, keys: impl IntoIterator<Item = ChangeKey>) {
    let claims: Vec<ChangeRecord> = keys
        .into_iter()
        .enumerate()
        .map(|(number, key)| numbered(key, number))
        .collect();
    for_each(&claims, |claim| create(store, claim)).await;
    for_each(&claims, async |claim| {
        let found = store.get_by_uri(claim.key.queue(), claim.key.uri()).await;
        assert_eq!(found.unwrap(), std::slice::from_ref(claim));
    })
    .await;
}

pub(super) async fn confusable_queues_are_different(fixture: &Fixture<dyn ChangeStore>) {
    let keys = CONFUSABLE.iter().map(|queue| key(queue, "uri", "request"));
    are_all_different(&*fixture.store, keys).await;
}

pub(super) async fn confusable_uris_are_different(fixture: &Fixture<dyn ChangeStore>) {
    let keys = CONFUSABLE.iter().map(|uri| key("queue", uri, "request"));
    are_all_different(&*fixture.store, keys).await;
}

pub(super) async fn confusable_requests_are_different(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let mut claims: Vec<_> = CONFUSABLE
        .iter()
        .enumerate()
        .map(|(number, request)| numbered(key("queue", "uri", request), number))
        .collect();
    for_each(&claims, |claim| create(store, claim)).await;
    claims.sort_by(|a, b| {
        a.key
            .request_id()
            .as_bytes()
            .cmp(b.key.request_id().as_bytes())
    });
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap(), claims);
}

pub(super) async fn separators_inside_the_parts_move_nothing(fixture: &Fixture<dyn ChangeStore>) {
    let mut keys = Vec::new();
    for separator in SEPARATORS {
        let s = separator;
        // The same four letters, split in every way over three parts.
        keys.push(key(&format!("a{s}b"), "c", "d"));
        keys.push(key("a", &format!("b{s}c"), "d"));
        keys.push(key("a", &format!("b{s}"), &format!("{s}c{s}d")));
        // A separator at the end of one part, or at the start of the next.
        keys.push(key(&format!("a{s}"), "b", "c"));
        keys.push(key("a", &format!("{s}b"), "c"));
        keys.push(key(s, s, s));
        keys.push(key(s, &format!("{s}{s}{s}"), s));
    }
    // What one separator does may be what another one's text is (`/` and `//`).
    keys.sort_unstable();
    keys.dedup();
    are_all_different(&*fixture.store, keys).await;
}

pub(super) async fn parts_do_not_move_between_uri_and_request(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    for s in SEPARATORS {
        let one = numbered(key(s, &format!("a{s}b"), "c"), 1);
        let other = numbered(key(s, "a", &format!("b{s}c")), 2);
        create(store, &one).await;
        create(store, &other).await;
        let found = store.get_by_uri(s, one.key.uri()).await.unwrap();
        assert_eq!(found, [one], "separator {s:?}");
        let found = store.get_by_uri(s, "a").await.unwrap();
        assert_eq!(found, [other], "separator {s:?}");
    }
}

pub(super) async fn a_key_is_the_same_however_it_was_made(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    for text in CONFUSABLE {
        let claim = numbered(key(text, text, text), 0);
        create(store, &claim).await;
        let again = ChangeKey::new((*text).to_owned(), (*text).to_owned(), (*text).to_owned());
        let outcome = store.create(numbered(again.unwrap(), 1)).await.unwrap();
        assert_eq!(outcome, CreateOutcome::AlreadyThere, "{text:?}");
    }
}
