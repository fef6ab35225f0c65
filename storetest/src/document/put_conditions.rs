//! `put` × every condition × (a live record, nothing, a deleted one, an expired one).

use changestore_core::{Condition, DocumentStore, Etag, Record};

use super::records::{
    PK, advance, in_millis, is_absent, is_stored, key, nobodys_etag, put, record, version,
};
use crate::expect;
use crate::harness::Fixture;

/// The conditions that can be told apart at a record of version 2.
fn conditions(first: &Etag, second: &Etag) -> [(&'static str, Condition); 11] {
    [
        ("none", Condition::None),
        ("if absent", Condition::IfAbsent),
        ("if version 0", Condition::IfVersion(version(0))),
        ("if version 1", Condition::IfVersion(version(1))),
        ("if version 2", Condition::IfVersion(version(2))),
        ("if version 3", Condition::IfVersion(version(3))),
        (
            "if the greatest version",
            Condition::IfVersion(version(i64::MAX.unsigned_abs())),
        ),
        ("if the first etag", Condition::IfEtag(first.clone())),
        ("if the second etag", Condition::IfEtag(second.clone())),
        ("if nobody's etag", Condition::IfEtag(nobodys_etag())),
        (
            "if a short etag",
            Condition::IfEtag(Etag::new("2").unwrap()),
        ),
    ]
}

/// What was there: a record at its version 2, with the etags of its two writes.
struct Written {
    first: Etag,
    record: Record,
}

async fn written_twice(fixture: &Fixture<dyn DocumentStore>, sk: &str) -> Written {
    let store = &*fixture.store;
    let expire_at = in_millis(fixture, 1_000);
    let first = put(store, record(sk, "first")).await.etag;
    let second = record(sk, "second").with_expire_at(expire_at);
    let record = put(store, second).await;
    Written { first, record }
}

/// Puts under each condition at a record of its own, which `prepare` has got out of the way.
async fn where_nothing_lives(fixture: &Fixture<dyn DocumentStore>, prepare: impl AsyncFn(&Record)) {
    let store = &*fixture.store;
    let (first, second) = (nobodys_etag(), nobodys_etag());
    let names = conditions(&first, &second).map(|(name, _)| name);
    for (number, name) in names.into_iter().enumerate() {
        let written = written_twice(fixture, name).await;
        let (_, condition) = conditions(&written.first, &written.record.etag)[number].clone();
        prepare(&written.record).await;
        let result = store.put(record(name, "third"), condition).await;
        if ["none", "if absent", "if version 0"].contains(&name) {
            let third = result.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(third.version, version(1), "{name}");
            assert_eq!(third.data, "third", "{name}");
            assert_eq!(third.expire_at, None, "{name}");
            is_stored(store, &third).await;
        } else {
            expect::condition_failed(result);
            is_absent(store, &written.record.key).await;
        }
    }
}

pub(super) async fn over_a_live_record(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let Written {
        first,
        record: second,
    } = written_twice(fixture, "sk").await;
    let mut holding = Vec::new();
    for (name, condition) in conditions(&first, &second.etag) {
        if ["none", "if version 2", "if the second etag"].contains(&name) {
            holding.push((name, condition));
            continue;
        }
        let result = store.put(record("sk", "third"), condition).await;
        expect::condition_failed(result);
        // Data, version, etag and expiry are what they were.
        is_stored(store, &second).await;
    }
    for (name, _) in holding {
        let Written {
            first,
            record: second,
        } = written_twice(fixture, name).await;
        let conditions = conditions(&first, &second.etag);
        let (_, condition) = conditions.into_iter().find(|of| of.0 == name).unwrap();
        let third = store.put(record(name, "third"), condition).await;
        let third = third.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(third.version, version(3), "{name}");
        assert_ne!(third.etag, second.etag, "{name}");
        assert_eq!(third.expire_at, None, "{name}");
        is_stored(store, &third).await;
    }
}

pub(super) async fn where_nothing_was_ever(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for (name, condition) in conditions(&nobodys_etag(), &nobodys_etag()) {
        let result = store.put(record(name, "data"), condition).await;
        if ["none", "if absent", "if version 0"].contains(&name) {
            let written = result.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(written.version, version(1), "{name}");
            is_stored(store, &written).await;
        } else {
            expect::condition_failed(result);
            is_absent(store, &key(PK, name)).await;
        }
    }
}

pub(super) async fn where_a_record_was_deleted(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    where_nothing_lives(fixture, async |record| {
        store.delete(&record.key, Condition::None).await.unwrap();
    })
    .await;
}

pub(super) async fn where_a_record_has_expired(fixture: &Fixture<dyn DocumentStore>) {
    // Exactly to the moment: it expires then, and not after it.
    where_nothing_lives(fixture, async |_| advance(fixture, 1_000)).await;
}

pub(super) async fn if_version_zero_is_if_absent(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let zero = || Condition::IfVersion(version(0));
    let written = store.put(record("sk", "first"), zero()).await.unwrap();
    assert_eq!(written.version, version(1));
    expect::condition_failed(store.put(record("sk", "second"), zero()).await);
    is_stored(store, &written).await;
    store.delete(&written.key, Condition::None).await.unwrap();
    let again = store.put(record("sk", "third"), zero()).await.unwrap();
    assert_eq!(again.version, version(1));
}

pub(super) async fn a_failed_put_does_not_prolong_a_life(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 100);
    let written = put(store, record("sk", "").with_expire_at(soon)).await;
    let later = record("sk", "").with_expire_at(in_millis(fixture, 10_000));
    expect::condition_failed(store.put(later, Condition::IfAbsent).await);
    expect::condition_failed(
        store
            .put(record("sk", ""), Condition::IfVersion(version(2)))
            .await,
    );
    advance(fixture, 99);
    is_stored(store, &written).await;
    advance(fixture, 1);
    is_absent(store, &written.key).await;
}
