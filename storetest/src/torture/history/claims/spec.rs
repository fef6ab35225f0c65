//! What the key of a claim does, one call after the other.

use crate::torture::Anomaly;
use crate::torture::history::call::{Call, Spec};

/// The contract of one claim.
#[derive(Debug, Clone)]
pub(crate) struct Claim;

/// What is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum State {
    #[default]
    Unclaimed,
    Claimed {
        /// The create or update that has set what is there.
        write: u64,
        version: u64,
    },
}

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// By its URI.
    Read,
    Create {
        write: u64,
    },
    /// From this version to the next.
    Update {
        write: u64,
        old: u64,
    },
}

/// What it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Found {
        write: u64,
        version: u64,
    },
    NotFound,
    Created,
    AlreadyThere,
    Updated,
    Mismatch {
        stored: u64,
    },
    /// Something else was in the way, and nothing has happened.
    NotApplied,
}

impl Spec for Claim {
    type State = State;
    type Action = Action;
    type Answer = Answer;

    const MISTAKES: &'static [Anomaly] = &[
        Anomaly::AppliedFailure,
        Anomaly::StaleRead,
        Anomaly::LostUpdate,
        Anomaly::SwallowedFailure,
    ];

    fn has_no_effect(call: &Call<Self>) -> bool {
        !matches!(call.answer, None | Some(Answer::Created | Answer::Updated))
    }

    fn after(state: &State, call: &Call<Self>, allowed: Option<Anomaly>) -> Vec<State> {
        let (answer, next) = judge(*state, call.action);
        let Some(told) = call.answer else {
            return vec![next];
        };
        let mut after = Vec::new();
        if told == Answer::NotApplied {
            after.push(*state);
        }
        if told == answer {
            after.push(next);
        }
        after.extend(allowed.and_then(|allowed| mistaken(*state, call.action, told, allowed)));
        after.dedup();
        after
    }
}

/// What the contract says: the answer, and what is stored then.
fn judge(state: State, action: Action) -> (Answer, State) {
    match (action, state) {
        (Action::Read | Action::Update { .. }, State::Unclaimed) => (Answer::NotFound, state),
        (Action::Read, State::Claimed { write, version }) => {
            (Answer::Found { write, version }, state)
        }
        (Action::Create { write }, State::Unclaimed) => {
            (Answer::Created, State::Claimed { write, version: 1 })
        }
        (Action::Create { .. }, State::Claimed { .. }) => (Answer::AlreadyThere, state),
        (Action::Update { write, old }, State::Claimed { version, .. }) if old == version => (
            Answer::Updated,
            State::Claimed {
                write,
                version: old + 1,
            },
        ),
        (Action::Update { .. }, State::Claimed { version, .. }) => {
            (Answer::Mismatch { stored: version }, state)
        }
    }
}

/// What is stored after a mistake of that kind, if it explains what the call was told.
fn mistaken(state: State, action: Action, told: Answer, allowed: Anomaly) -> Option<State> {
    let is_acknowledged = matches!(told, Answer::Created | Answer::Updated);
    let done = match action {
        Action::Read => None,
        Action::Create { write } => Some(State::Claimed { write, version: 1 }),
        Action::Update { write, old } => Some(State::Claimed {
            write,
            version: old + 1,
        }),
    };
    match allowed {
        Anomaly::SwallowedFailure if is_acknowledged => {
            (judge(state, action).0 == told).then_some(state)
        }
        Anomaly::LostUpdate if is_acknowledged => done,
        Anomaly::AppliedFailure if !is_acknowledged => done,
        Anomaly::StaleRead if action == Action::Read => Some(state),
        _ => None,
    }
}
