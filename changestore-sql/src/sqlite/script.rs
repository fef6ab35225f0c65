//! Several writes in one call to sqlx's thread.
//!
//! Every call to a connection hops to its thread and back, which costs more than the statements of a
//! write do. sqlx runs any number of statements in one call and keeps them prepared, so writes of one
//! kind are strung together: in lengths that are powers of two, so that a few texts serve every number.

use std::collections::HashMap;
use std::sync::Arc;

use changestore_core::Condition;

use super::statements;
use crate::flow::write::Write;

/// The longest run of one kind.
const LONGEST_RUN: usize = 64;

/// Writes that share their statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Create,
    UpdateMetadata,
    /// Without a condition, or if absent.
    Put,
    /// If version or if etag.
    Replace,
    Delete,
    Increment,
}

impl Kind {
    fn of(write: &Write) -> Self {
        match write {
            Write::Create(_) => Self::Create,
            Write::UpdateMetadata { .. } => Self::UpdateMetadata,
            Write::Put { condition, .. } => match condition {
                Condition::None | Condition::IfAbsent => Self::Put,
                Condition::IfVersion(_) | Condition::IfEtag(_) => Self::Replace,
            },
            Write::Delete { .. } => Self::Delete,
            Write::Increment { .. } => Self::Increment,
        }
    }

    fn sql(self) -> &'static str {
        match self {
            Self::Create => statements::CREATE,
            Self::UpdateMetadata => statements::UPDATE_METADATA,
            Self::Put => statements::PUT,
            Self::Replace => statements::REPLACE,
            Self::Delete => statements::DELETE,
            Self::Increment => statements::INCREMENT,
        }
    }

    /// How many statements a write is: the write itself, and the look at what stands there. A claim that
    /// was there before needs no look.
    pub(super) fn statements(self) -> usize {
        match self {
            Self::Create => 1,
            _ => 2,
        }
    }
}

/// Writes of one kind for one call, by their places in the batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) kind: Kind,
    pub(super) places: Vec<usize>,
}

impl Run {
    /// How many statements its script has, without BEGIN and COMMIT.
    pub(super) fn statements(&self) -> usize {
        self.kind.statements() * self.places.len()
    }
}

/// Sorts a batch into runs. All of it was waiting at once, so any order is right.
pub(super) fn runs(writes: &[&Write]) -> Vec<Run> {
    let mut kinds: Vec<Run> = Vec::new();
    for (place, write) in writes.iter().enumerate() {
        let kind = Kind::of(write);
        match kinds.iter_mut().find(|run| run.kind == kind) {
            Some(run) => run.places.push(place),
            None => kinds.push(Run {
                kind,
                places: vec![place],
            }),
        }
    }
    kinds.iter().flat_map(split).collect()
}

fn split(all: &Run) -> Vec<Run> {
    let kind = all.kind;
    let mut rest = &all.places[..];
    let mut runs = Vec::new();
    while !rest.is_empty() {
        let power_of_two = 1 << rest.len().ilog2();
        let (places, behind) = rest.split_at(LONGEST_RUN.min(power_of_two));
        let places = places.to_vec();
        runs.push(Run { kind, places });
        rest = behind;
    }
    runs
}

/// The texts, made once each.
#[derive(Debug, Default)]
pub(super) struct Scripts(HashMap<(Kind, usize, bool), Arc<str>>);

impl Scripts {
    /// The text for a run; with its own BEGIN and COMMIT if the run is the whole transaction.
    pub(super) fn text(&mut self, run: &Run, is_whole: bool) -> Arc<str> {
        let times = run.places.len();
        let text = self
            .0
            .entry((run.kind, times, is_whole))
            .or_insert_with(|| {
                let writes = run.kind.sql().repeat(times);
                let (begin, commit) = if is_whole {
                    (statements::BEGIN, statements::COMMIT)
                } else {
                    ("", "")
                };
                format!("{begin}{writes}{commit}").into()
            });
        Arc::clone(text)
    }
}

#[cfg(test)]
mod tests {
    use changestore_core::Key;

    use super::*;

    fn lengths(deletes: usize) -> Vec<usize> {
        let deletes: Vec<Write> = (0..deletes)
            .map(|n| Write::Delete {
                key: Key::new("p", n.to_string()).unwrap(),
                condition: Condition::None,
            })
            .collect();
        let runs = runs(&deletes.iter().collect::<Vec<_>>());
        let places: Vec<usize> = runs.iter().flat_map(|run| run.places.clone()).collect();
        assert_eq!(places, (0..deletes.len()).collect::<Vec<_>>());
        runs.iter().map(|run| run.places.len()).collect()
    }

    #[test]
    fn runs_are_powers_of_two_and_lose_nobody() {
        assert_eq!(lengths(1), [1]);
        assert_eq!(lengths(7), [4, 2, 1]);
        assert_eq!(lengths(64), [64]);
        assert_eq!(lengths(205), [64, 64, 64, 8, 4, 1]);
    }
}
