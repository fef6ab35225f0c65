//! What the key of a record or counter does, one call after the other.

use changestore_core::{RecordKind, Timestamp};

use crate::torture::Anomaly;
use crate::torture::history::call::{Call, Spec};

/// The contract of one key.
#[derive(Debug, Clone)]
pub(crate) struct Document;

/// What is stored at the key, expired or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    #[default]
    Empty,
    Record {
        /// The write that stored it.
        write: u64,
        version: u64,
        expire_at: Option<Timestamp>,
    },
    Counter {
        value: i64,
        expire_at: Option<Timestamp>,
    },
}

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// By get, or by a query of the partition.
    Read,
    Put {
        write: u64,
        condition: If,
        expire_at: Option<Timestamp>,
    },
    Delete {
        condition: If,
    },
    Increment {
        delta: i64,
        expire_at: Option<Timestamp>,
    },
}

/// The condition of a put or delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum If {
    Always,
    Absent,
    Version(u64),
    /// By the etag of that write.
    Etag(u64),
}

/// What it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Found {
        write: u64,
        version: u64,
        expire_at: Option<Timestamp>,
    },
    NotFound,
    Stored {
        version: u64,
    },
    Deleted,
    ConditionFailed,
    Counted(i64),
    WrongKind(RecordKind),
    /// Something else was in the way, and nothing has happened.
    NotApplied,
}

impl Spec for Document {
    type State = Slot;
    type Action = Action;
    type Answer = Answer;

    const MISTAKES: &'static [Anomaly] = &[
        Anomaly::ResurrectedExpired,
        Anomaly::DoubleIncrement,
        Anomaly::AppliedFailure,
        Anomaly::StaleRead,
        Anomaly::LostUpdate,
        Anomaly::SwallowedFailure,
        Anomaly::ReusedVersion,
    ];

    fn has_no_effect(call: &Call<Self>) -> bool {
        match call.answer {
            None | Some(Answer::Stored { .. } | Answer::Deleted) => false,
            // Where nothing was, one of nothing would have begun a counter at 0.
            Some(Answer::Counted(value)) => matches!(
                call.action,
                Action::Increment { delta: 0, expire_at: None } if value != 0
            ),
            Some(_) => true,
        }
    }

    fn after(state: &Slot, call: &Call<Self>, allowed: Option<Anomaly>) -> Vec<Slot> {
        let mut after = Vec::new();
        let mut add = |slot| {
            if !after.contains(&slot) {
                after.push(slot);
            }
        };
        if call.answer == Some(Answer::NotApplied) {
            add(*state);
        }
        for seen in views(*state, call, allowed) {
            let (answer, next) = judge(seen, call.action);
            let next = next.unwrap_or(*state);
            match call.answer {
                None => add(next),
                Some(told) if told == answer => add(next),
                Some(told)
                    if allowed == Some(Anomaly::ReusedVersion)
                        && is_but_for_versions(told, answer) =>
                {
                    // What it was told is what is stored, or only what it was told.
                    add(adopt_version(next, told));
                    add(next);
                }
                Some(_) => {}
            }
            match (call.answer, allowed) {
                (Some(told), Some(allowed)) => {
                    let slot = mistaken(seen, *state, call.action, told, allowed);
                    slot.into_iter().for_each(&mut add);
                }
                (None, Some(Anomaly::DoubleIncrement)) => {
                    let slot = twice(seen, call.action).map(|(_, _, slot)| slot);
                    slot.into_iter().for_each(&mut add);
                }
                _ => {}
            }
        }
        after
    }
}

/// What the call can see: the slot, or nothing because it has expired, or either while the clock was stepped.
fn views(
    state: Slot,
    call: &Call<Document>,
    allowed: Option<Anomaly>,
) -> impl Iterator<Item = Slot> {
    let expire_at = match state {
        Slot::Empty => None,
        Slot::Record { expire_at, .. } | Slot::Counter { expire_at, .. } => expire_at,
    };
    let (live, expired) = call.may_see_expired(expire_at);
    let live = live || allowed == Some(Anomaly::ResurrectedExpired);
    let live = live.then_some(state);
    live.into_iter().chain(expired.then_some(Slot::Empty))
}

/// What the contract says: the answer, and what is stored then if that changes.
fn judge(seen: Slot, action: Action) -> (Answer, Option<Slot>) {
    match (action, seen) {
        (
            Action::Read,
            Slot::Record {
                write,
                version,
                expire_at,
            },
        ) => (
            Answer::Found {
                write,
                version,
                expire_at,
            },
            None,
        ),
        (Action::Read | Action::Delete { .. }, _) if !is_record(seen) => (Answer::NotFound, None),
        (Action::Put { .. }, Slot::Counter { .. }) => {
            (Answer::WrongKind(RecordKind::Counter), None)
        }
        (
            Action::Put {
                write,
                condition,
                expire_at,
            },
            _,
        ) => {
            if !holds(condition, seen) {
                return (Answer::ConditionFailed, None);
            }
            let version = version_of(seen) + 1;
            let stored = Slot::Record {
                write,
                version,
                expire_at,
            };
            (Answer::Stored { version }, Some(stored))
        }
        (Action::Delete { condition }, _) if holds(condition, seen) => {
            (Answer::Deleted, Some(Slot::Empty))
        }
        (Action::Delete { .. } | Action::Read, _) => (Answer::ConditionFailed, None),
        (Action::Increment { .. }, Slot::Record { .. }) => {
            (Answer::WrongKind(RecordKind::Record), None)
        }
        (Action::Increment { delta, expire_at }, _) => {
            let (value, kept) = match seen {
                Slot::Counter { value, expire_at } => (value, expire_at),
                _ => (0, None),
            };
            // The clients' deltas are small.
            let value = value + delta;
            let expire_at = expire_at.or(kept);
            (
                Answer::Counted(value),
                Some(Slot::Counter { value, expire_at }),
            )
        }
    }
}

/// What is stored after a mistake of that kind, if it explains what the call was told.
fn mistaken(
    seen: Slot,
    state: Slot,
    action: Action,
    told: Answer,
    allowed: Anomaly,
) -> Option<Slot> {
    let is_acknowledged_write = matches!(
        told,
        Answer::Stored { .. } | Answer::Deleted | Answer::Counted(_)
    );
    match allowed {
        Anomaly::SwallowedFailure if is_acknowledged_write => {
            (judge(seen, action).0 == told).then_some(state)
        }
        Anomaly::StaleRead if action == Action::Read => Some(state),
        Anomaly::LostUpdate if is_acknowledged_write => {
            if let (Action::Increment { expire_at, .. }, Answer::Counted(value)) = (action, told) {
                return Some(Slot::Counter { value, expire_at });
            }
            let (answer, next) = judge(seen, unconditional(action));
            next.filter(|_| answer == told)
        }
        Anomaly::ReusedVersion => in_doubt_of_versions(state, action, told),
        Anomaly::DoubleIncrement => {
            let (first, second, slot) = twice(seen, action)?;
            (told == first || told == second).then_some(slot)
        }
        Anomaly::AppliedFailure if !is_acknowledged_write && action != Action::Read => {
            judge(seen, unconditional(action)).1
        }
        _ => None,
    }
}

/// What an increment that counts twice is told, first and then, and what is stored.
fn twice(seen: Slot, action: Action) -> Option<(Answer, Answer, Slot)> {
    let Action::Increment { .. } = action else {
        return None;
    };
    let (first, once) = judge(seen, action);
    let (second, twice) = judge(once?, action);
    Some((first, second, twice?))
}

/// What is stored after a call on a version, where the client may have been told a wrong one before.
fn in_doubt_of_versions(state: Slot, action: Action, told: Answer) -> Option<Slot> {
    let is_on_version = |condition| matches!(condition, If::Version(_));
    match (action, told) {
        (Action::Put { condition, .. } | Action::Delete { condition }, Answer::ConditionFailed)
            if is_on_version(condition) =>
        {
            Some(state)
        }
        (
            Action::Put {
                condition,
                write,
                expire_at,
            },
            Answer::Stored { version },
        ) if is_on_version(condition) => Some(Slot::Record {
            write,
            version,
            expire_at,
        }),
        (Action::Delete { condition }, Answer::Deleted) if is_on_version(condition) => {
            Some(Slot::Empty)
        }
        _ => None,
    }
}

/// The same call without its condition.
fn unconditional(action: Action) -> Action {
    let condition = If::Always;
    match action {
        Action::Put {
            write, expire_at, ..
        } => Action::Put {
            write,
            condition,
            expire_at,
        },
        Action::Delete { .. } => Action::Delete { condition },
        other => other,
    }
}

fn is_record(slot: Slot) -> bool {
    matches!(slot, Slot::Record { .. })
}

fn version_of(slot: Slot) -> u64 {
    match slot {
        Slot::Record { version, .. } => version,
        _ => 0,
    }
}

fn holds(condition: If, seen: Slot) -> bool {
    match (condition, seen) {
        (If::Always, _) => true,
        (If::Absent, _) => seen == Slot::Empty,
        (If::Version(wanted), Slot::Record { version, .. }) => wanted == version,
        (If::Etag(wanted), Slot::Record { write, .. }) => wanted == write,
        (If::Version(_) | If::Etag(_), _) => false,
    }
}

/// Whether an answer is the right one but for the version in it.
fn is_but_for_versions(told: Answer, right: Answer) -> bool {
    match (told, right) {
        (Answer::Stored { .. }, Answer::Stored { .. }) => true,
        (
            Answer::Found {
                write, expire_at, ..
            },
            Answer::Found {
                write: right,
                expire_at: until,
                ..
            },
        ) => write == right && expire_at == until,
        _ => false,
    }
}

/// The record with the version that was told.
fn adopt_version(slot: Slot, told: Answer) -> Slot {
    match (slot, told) {
        (
            Slot::Record {
                write, expire_at, ..
            },
            Answer::Stored { version } | Answer::Found { version, .. },
        ) => Slot::Record {
            write,
            version,
            expire_at,
        },
        (slot, _) => slot,
    }
}
