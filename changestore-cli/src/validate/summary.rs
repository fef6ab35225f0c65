//! What a run amounts to.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use serde::Serialize;

use super::decide::{Answer, Said};
use super::event::Event;
use super::request::Verdict;

/// Counts of a run. A request counts once, however often its events are delivered.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    requests: u64,
    claimed: u64,
    duplicates: u64,
    finished: u64,
    errors: u64,
    /// Events that were answered.
    events: u64,
    /// Those of them that had been handled before.
    redelivered: u64,
    /// What has been counted: hashes of 64 bits, since a set of the names of a million requests would
    /// take most of the memory that a run may have.
    #[serde(skip)]
    counted: HashSet<u64>,
}

impl Summary {
    pub(crate) fn answered(&mut self, event: &Event, answer: &Answer) {
        self.events += 1;
        self.redelivered += u64::from(answer.redelivered);
        let what = (&event.queue, &event.request_id, event.is_submit());
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(what);
        if !self.counted.insert(hash) {
            return;
        }
        match &answer.said {
            Said::Verdict(verdict) => {
                self.requests += 1;
                match verdict {
                    Verdict::Claimed => self.claimed += 1,
                    Verdict::Duplicate { .. } => self.duplicates += 1,
                }
            }
            Said::Finished { .. } => self.finished += 1,
        }
    }

    pub(crate) fn failed(&mut self) {
        self.errors += 1;
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} claimed, {}; {} finished; {}",
            count(self.requests, "request"),
            self.claimed,
            count(self.duplicates, "duplicate"),
            self.finished,
            count(self.errors, "error"),
        )?;
        if self.redelivered > 0 {
            write!(f, " ({} redelivered", count(self.redelivered, "event"))?;
            if self.redelivered == self.events {
                f.write_str(", nothing changed")?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
