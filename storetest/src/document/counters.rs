//! `increment`: an atomic counter with an expiry of its own.

use changestore_core::{DocumentStore, Timestamp};

use super::records::{PK, advance, in_millis, key};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn an_absent_counter_starts_at_the_delta(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for delta in [1, 5, -3, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN] {
        let key = key(PK, &format!("from {delta}"));
        assert_eq!(store.increment(&key, delta, None).await.unwrap(), delta);
        assert_eq!(store.increment(&key, 0, None).await.unwrap(), delta);
    }
}

pub(super) async fn deltas_add_up_in_both_directions(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    let mut sum = 0;
    for delta in [1, 10, -4, -20, 100, 0, -87, 1 << 60, -(1 << 60) + 1, -1] {
        sum += delta;
        assert_eq!(store.increment(&key, delta, None).await.unwrap(), sum);
    }
}

pub(super) async fn a_delta_of_zero_reads_and_creates(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    assert_eq!(store.increment(&key, 0, None).await.unwrap(), 0);
    assert_eq!(store.increment(&key, 0, None).await.unwrap(), 0);
    assert_eq!(store.increment(&key, 3, None).await.unwrap(), 3);
    assert_eq!(store.increment(&key, 0, None).await.unwrap(), 3);
}

pub(super) async fn it_may_stand_at_the_ends_of_the_range(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let (high, low) = (key(PK, "high"), key(PK, "low"));
    store.increment(&high, i64::MAX - 1, None).await.unwrap();
    assert_eq!(store.increment(&high, 1, None).await.unwrap(), i64::MAX);
    assert_eq!(store.increment(&high, i64::MIN, None).await.unwrap(), -1);
    store.increment(&low, i64::MIN + 1, None).await.unwrap();
    assert_eq!(store.increment(&low, -1, None).await.unwrap(), i64::MIN);
    assert_eq!(store.increment(&low, i64::MAX, None).await.unwrap(), -1);
}

pub(super) async fn overflow_is_an_invalid_delta_and_changes_nothing(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let soon = in_millis(fixture, 100);
    let later = Some(in_millis(fixture, 10_000));
    let cases = [
        (i64::MAX, 1),
        (i64::MAX, i64::MAX),
        (i64::MAX - 9, 10),
        (1, i64::MAX),
        (i64::MIN, -1),
        (i64::MIN, i64::MIN),
        (i64::MIN + 9, -10),
        (-1, i64::MIN),
    ];
    let nth = |number: usize| key(PK, &number.to_string());
    for (number, (value, delta)) in cases.into_iter().enumerate() {
        let key = nth(number);
        store.increment(&key, value, Some(soon)).await.unwrap();
        for expire_at in [None, later] {
            let refused = store.increment(&key, delta, expire_at).await;
            expect::invalid(refused, "delta");
            assert_eq!(store.increment(&key, 0, None).await.unwrap(), value);
        }
    }
    // The expiry that was refused with the delta did not become the counter's.
    advance(fixture, 100);
    for number in 0..cases.len() {
        assert_eq!(store.increment(&nth(number), 0, None).await.unwrap(), 0);
    }
}

pub(super) async fn what_expired_cannot_overflow(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    let soon = in_millis(fixture, 100);
    store.increment(&key, i64::MAX, Some(soon)).await.unwrap();
    advance(fixture, 100);
    let restarted = store.increment(&key, i64::MAX, None).await;
    assert_eq!(restarted.unwrap(), i64::MAX);
}

pub(super) async fn a_given_expiry_becomes_the_counters(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let (prolonged, shortened, limited) = (
        key(PK, "prolonged"),
        key(PK, "shortened"),
        key(PK, "limited"),
    );
    let (soon, later) = (in_millis(fixture, 100), in_millis(fixture, 1_000));
    store.increment(&prolonged, 1, Some(soon)).await.unwrap();
    store.increment(&prolonged, 1, Some(later)).await.unwrap();
    store.increment(&shortened, 1, Some(later)).await.unwrap();
    store.increment(&shortened, 1, Some(soon)).await.unwrap();
    store.increment(&limited, 1, None).await.unwrap();
    store.increment(&limited, 1, Some(soon)).await.unwrap();
    advance(fixture, 99);
    for key in [&prolonged, &shortened, &limited] {
        assert_eq!(store.increment(key, 0, None).await.unwrap(), 2);
    }
    advance(fixture, 1);
    assert_eq!(store.increment(&shortened, 7, None).await.unwrap(), 7);
    assert_eq!(store.increment(&limited, 7, None).await.unwrap(), 7);
    assert_eq!(store.increment(&prolonged, 0, None).await.unwrap(), 2);
    advance(fixture, 900);
    assert_eq!(store.increment(&prolonged, 7, None).await.unwrap(), 7);
}

pub(super) async fn without_one_it_keeps_the_expiry_it_has(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let key = key(PK, "counter");
    let soon = in_millis(fixture, 100);
    store.increment(&key, 1, Some(soon)).await.unwrap();
    for value in 2..=10 {
        advance(fixture, 11);
        assert_eq!(store.increment(&key, 1, None).await.unwrap(), value);
    }
    advance(fixture, 1);
    assert_eq!(store.increment(&key, 1, None).await.unwrap(), 1);
}

pub(super) async fn an_expired_counter_starts_at_the_delta_with_no_old_expiry(
    fixture: &Fixture<dyn DocumentStore>,
) {
    let store = &*fixture.store;
    let (ever, limited) = (key(PK, "ever"), key(PK, "limited"));
    let soon = in_millis(fixture, 100);
    store.increment(&ever, 50, Some(soon)).await.unwrap();
    store.increment(&limited, 50, Some(soon)).await.unwrap();
    advance(fixture, 100);
    assert_eq!(store.increment(&ever, 3, None).await.unwrap(), 3);
    let again = Some(in_millis(fixture, 100));
    assert_eq!(store.increment(&limited, -3, again).await.unwrap(), -3);
    advance(fixture, 99);
    assert_eq!(store.increment(&limited, 1, None).await.unwrap(), -2);
    advance(fixture, 1);
    assert_eq!(store.increment(&limited, 1, None).await.unwrap(), 1);
    fixture.clock.set(Timestamp::MAX);
    assert_eq!(store.increment(&ever, 1, None).await.unwrap(), 4);
}

pub(super) async fn an_expiry_that_is_over_ends_the_counter(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    for over in [in_millis(fixture, 0), Timestamp::EPOCH] {
        let key = key(PK, &over.to_string());
        // Counted, and then absent at once.
        assert_eq!(store.increment(&key, 5, None).await.unwrap(), 5);
        assert_eq!(store.increment(&key, 5, Some(over)).await.unwrap(), 10);
        assert_eq!(store.increment(&key, 5, Some(over)).await.unwrap(), 5);
        assert_eq!(store.increment(&key, 2, None).await.unwrap(), 2);
    }
}

pub(super) async fn each_key_counts_for_itself(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let keys = [
        key(PK, "a"),
        key(PK, "b"),
        key("other", "a"),
        key("other", "b"),
    ];
    for (number, key) in (1..).zip(&keys) {
        assert_eq!(store.increment(key, number, None).await.unwrap(), number);
    }
    for (number, key) in (1..).zip(&keys) {
        assert_eq!(store.increment(key, 10, None).await.unwrap(), number + 10);
    }
}
