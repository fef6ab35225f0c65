//! The checker, on histories written by hand.

use changestore_core::Timestamp;

use super::call::{Call, NEVER};
use super::documents::{Action, Answer, Document, If};
use super::journal::explain;
use crate::torture::Anomaly;

/// A call from one number to another, while the clock shows the numbers.
fn call(span: (u64, u64), action: Action, answer: impl Into<Option<Answer>>) -> Call<Document> {
    let at = |number: u64| Timestamp::from_millis(i64::try_from(number).unwrap()).unwrap();
    let answer = answer.into();
    Call {
        client: 0,
        invoked: span.0,
        returned: if answer.is_some() { span.1 } else { NEVER },
        from: at(span.0),
        to: at(span.1),
        action,
        answer,
    }
}

fn put(write: u64, condition: If) -> Action {
    Action::Put {
        write,
        condition,
        expire_at: None,
    }
}

fn stored(version: u64) -> Answer {
    Answer::Stored { version }
}

fn found(write: u64, version: u64) -> Answer {
    Answer::Found {
        write,
        version,
        expire_at: None,
    }
}

fn add(delta: i64) -> Action {
    Action::Increment {
        delta,
        expire_at: None,
    }
}

/// What explains the history; nothing if it is in order.
fn anomalies(calls: &[Call<Document>]) -> Vec<Anomaly> {
    let violation = explain("key", calls, 0);
    violation.map_or_else(Vec::new, |violation| violation.anomalies)
}

#[test]
fn calls_side_by_side_may_have_any_order() {
    // The read began first, ended last, and has seen the second of two puts, which was told first.
    let calls = [
        call((0, 9), Action::Read, found(2, 2)),
        call((1, 8), put(1, If::Always), stored(1)),
        call((2, 7), put(2, If::Version(1)), stored(2)),
    ];
    assert!(anomalies(&calls).is_empty());
}

#[test]
fn what_was_over_before_stays_before() {
    let calls = [
        call((0, 1), put(1, If::Always), stored(1)),
        call((2, 3), put(2, If::Always), stored(2)),
        call((4, 5), Action::Read, found(1, 1)),
        call((6, 7), put(3, If::Always), stored(3)),
    ];
    assert_eq!(anomalies(&calls)[0], Anomaly::StaleRead);
}

#[test]
fn an_unknown_write_may_happen_late_or_never() {
    let begins = [
        call((0, 1), put(1, If::Always), stored(1)),
        call((2, 3), put(2, If::Version(1)), None),
        call((4, 5), Action::Read, found(1, 1)),
    ];
    assert!(anomalies(&begins).is_empty(), "never");
    let late = [&begins[..], &[call((6, 7), Action::Read, found(2, 2))]].concat();
    assert!(anomalies(&late).is_empty(), "late");
    // It cannot be undone, and not happen twice.
    let undone = [&late[..], &[call((8, 9), Action::Read, found(1, 1))]].concat();
    assert!(!anomalies(&undone).is_empty());
}

#[test]
fn of_two_puts_on_one_version_one_loses() {
    let calls = [
        call((0, 1), put(1, If::Always), stored(1)),
        call((2, 5), put(2, If::Version(1)), stored(2)),
        call((3, 4), put(3, If::Version(1)), stored(3)),
        call((6, 7), Action::Read, found(3, 3)),
    ];
    assert_eq!(anomalies(&calls)[0], Anomaly::LostUpdate);
}

#[test]
fn increments_count_once() {
    let calls = [
        call((0, 1), add(1), Answer::Counted(1)),
        call((2, 3), add(1), Answer::Counted(3)),
        call((4, 5), add(0), Answer::Counted(3)),
    ];
    assert_eq!(anomalies(&calls)[0], Anomaly::DoubleIncrement);
    let twice = [
        call((0, 1), add(5), None),
        call((2, 3), add(0), Answer::Counted(10)),
    ];
    assert_eq!(anomalies(&twice)[0], Anomaly::DoubleIncrement);
}

/// What changes nothing where it fits first may be what a later call needs.
#[test]
fn a_write_of_what_is_there_may_come_later() {
    let at = |millis| Some(Timestamp::from_millis(millis).unwrap());
    let prolong = |delta, expire_at| Action::Increment { delta, expire_at };
    let calls = [
        call((0, 1), prolong(5, at(8)), Answer::Counted(5)),
        call((2, 11), prolong(0, at(8)), Answer::Counted(5)),
        call((3, 4), prolong(0, at(30)), Answer::Counted(5)),
        // By now the counter has expired: the first to prolong it was the last.
        call((9, 10), put(1, If::Absent), stored(1)),
    ];
    assert!(anomalies(&calls).is_empty());
}

#[test]
fn an_acknowledged_write_is_there() {
    let calls = [
        call((0, 1), put(1, If::Absent), stored(1)),
        call((2, 3), put(2, If::Absent), stored(1)),
    ];
    assert!(anomalies(&calls).contains(&Anomaly::SwallowedFailure));
    let calls = [
        call((0, 1), put(1, If::Always), Answer::NotApplied),
        call((2, 3), Action::Read, found(1, 1)),
    ];
    assert_eq!(anomalies(&calls)[0], Anomaly::AppliedFailure);
}

#[test]
fn expired_is_absent_at_once_and_for_ever() {
    let expire_at = Some(Timestamp::from_millis(5).unwrap());
    let lease = Action::Put {
        write: 1,
        condition: If::Absent,
        expire_at,
    };
    let held = Answer::Found {
        write: 1,
        version: 1,
        expire_at,
    };
    let begins = [
        call((0, 1), lease, stored(1)),
        call((2, 4), Action::Read, held),
    ];
    // While the clock passes the time, a read may see either.
    for answer in [held, Answer::NotFound] {
        let calls = [&begins[..], &[call((4, 6), Action::Read, answer)]].concat();
        assert!(anomalies(&calls).is_empty());
    }
    let calls = [&begins[..], &[call((6, 7), Action::Read, held)]].concat();
    assert_eq!(anomalies(&calls)[0], Anomaly::ResurrectedExpired);
    let calls = [&begins[..], &[call((3, 4), Action::Read, Answer::NotFound)]].concat();
    assert!(!anomalies(&calls).is_empty());
}

#[test]
fn many_unknown_calls_are_judged() {
    let unknown = (0..12).map(|number| call((number, number + 1), put(number, If::Always), None));
    let mut calls: Vec<_> = unknown.collect();
    calls.push(call((90, 91), Action::Read, found(7, 3)));
    calls.push(call((92, 93), put(99, If::Version(3)), stored(4)));
    assert!(anomalies(&calls).is_empty());
}
