//! A record is at the exact bytes of its key.

use changestore_core::{Condition, DocumentStore, DocumentStoreExt, Key, QueryOptions};

use super::records::{PK, is_absent, is_stored, key, put, record_at};
use crate::harness::Fixture;
use crate::race::for_each;
use crate::texts::{CONFUSABLE, SEPARATORS};

/// Puts a record at each key, finds each as it was put, deletes every other one, and finds the rest.
async fn are_all_different(store: &dyn DocumentStore, keys: impl IntoIterator<Item = Key>) {
    let keys: Vec<Key> = keys.into_iter().collect();
    let numbered = |number: usize| record_at(keys[number].clone(), number.to_string());
    for_each(0..keys.len(), async |number| {
        // If absent: two keys that are one in the store meet here.
        let put = store.put(numbered(number), Condition::IfAbsent).await;
        let written = put.unwrap_or_else(|error| panic!("{}: {error}", keys[number]));
        is_stored(store, &written).await;
    })
    .await;
    for_each((0..keys.len()).step_by(2), async |number| {
        let deleted = store.delete(&keys[number], Condition::None).await;
        deleted.unwrap_or_else(|error| panic!("{}: {error}", keys[number]));
    })
    .await;
    for_each(0..keys.len(), async |number| {
        let found = store.find(&keys[number]).await.unwrap();
        let data = found.map(|record| record.data);
        let expected = (number % 2 == 1).then(|| number.to_string().into());
        assert_eq!(data, expected, "{}", keys[number]);
    })
    .await;
}

pub(super) async fn confusable_partition_keys_are_different(fixture: &Fixture<dyn DocumentStore>) {
    let keys = CONFUSABLE.iter().map(|pk| key(pk, "sk"));
    are_all_different(&*fixture.store, keys).await;
}

pub(super) async fn confusable_sort_keys_are_different(fixture: &Fixture<dyn DocumentStore>) {
    let keys = CONFUSABLE.iter().map(|sk| key(PK, sk));
    are_all_different(&*fixture.store, keys).await;
}

pub(super) async fn separators_inside_the_parts_move_nothing(fixture: &Fixture<dyn DocumentStore>) {
    let mut keys = Vec::new();
    for s in SEPARATORS {
        keys.push(key(&format!("a{s}b"), "c"));
        keys.push(key("a", &format!("b{s}c")));
        keys.push(key(&format!("a{s}"), "b"));
        keys.push(key("a", &format!("{s}b")));
        keys.push(key(s, s));
        keys.push(key(s, &format!("{s}{s}")));
        keys.push(key(&format!("{s}{s}"), s));
    }
    // What one separator does may be what another one's text is (`/` and `//`).
    keys.sort_unstable();
    keys.dedup();
    are_all_different(&*fixture.store, keys).await;
}

pub(super) async fn confusable_keys_are_different_counters(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let keys = CONFUSABLE
        .iter()
        .flat_map(|text| [key(text, "counter"), key(PK, text)]);
    let keys: Vec<_> = keys.collect();
    for (number, key) in (1_i64..).zip(&keys) {
        let started = store.increment(key, number * 10, None).await.unwrap();
        assert_eq!(started, number * 10, "{key}");
    }
    for (number, key) in (1_i64..).zip(&keys) {
        let value = store.increment(key, 1, None).await.unwrap();
        assert_eq!(value, number * 10 + 1, "{key}");
    }
}

pub(super) async fn a_partition_does_not_see_another_ones_records(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    // Prefixes of each other, and what separates them in a composite key.
    let partitions = [
        "p", "pa", "p/", "p#", "p\u{1}", "p ", "P", "p%", "p_", "\u{1}p",
    ];
    for pk in partitions {
        for sk in ["1", "a#1", "%", "/"] {
            put(store, record_at(key(pk, sk), pk)).await;
        }
    }
    for pk in partitions {
        for descending in [false, true] {
            let options = QueryOptions::default().with_descending(descending);
            let found = store.query_all(pk, "", options).await.unwrap();
            let mut sks: Vec<_> = found.iter().map(|record| record.key.sk()).collect();
            sks.sort_unstable();
            assert_eq!(sks, ["%", "/", "1", "a#1"], "partition {pk:?}");
            assert!(
                found
                    .iter()
                    .all(|record| record.data == pk && record.key.pk() == pk)
            );
        }
    }
    assert_eq!(
        store
            .query_all("q", "", QueryOptions::default())
            .await
            .unwrap(),
        []
    );
    is_absent(store, &key("q", "1")).await;
}
