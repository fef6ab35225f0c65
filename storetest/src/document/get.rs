//! `get`: the record, or not found.

use changestore_core::DocumentStore;

use super::records::{PK, in_millis, is_absent, is_stored, key, put, record};
use crate::harness::Fixture;

pub(super) async fn a_missing_record_is_not_found(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    is_absent(store, &key(PK, "b")).await;
    put(store, record("a", "a")).await;
    put(store, record("ba", "ba")).await;
    put(store, record("c", "c")).await;
    is_absent(store, &key(PK, "b")).await;
}

pub(super) async fn it_returns_what_the_last_put_returned(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for round in 0..5 {
        let new = record("sk", format!("round {round}"));
        let expire_at = (round % 2 == 0).then(|| in_millis(fixture, 1_000 + round));
        let written = put(store, new.with_expire_at(expire_at)).await;
        assert_eq!(written.expire_at, expire_at);
        is_stored(store, &written).await;
        // Reading changes nothing.
        is_stored(store, &written).await;
    }
}
