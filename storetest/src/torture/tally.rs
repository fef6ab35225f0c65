//! What was done and what was found.

use super::{Anomaly, Violation};

/// The counts of a test, and what it has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls of the store whose answers were checked.
    pub operations: u64,
    /// Programs compared with the model, and histories of concurrent clients.
    pub histories: u64,
    /// Faults that the network has made, and calls that were dropped.
    pub faults: u64,
    /// Servers that were killed, and came back.
    pub crashes: u64,
    /// What the contract forbids and was seen.
    pub violations: Vec<Violation>,
}

impl Tally {
    /// Acknowledged writes that are gone.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.count(Anomaly::loses_a_write)
    }

    /// Panics.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.count(|anomaly| anomaly == Anomaly::Panic)
    }

    /// All other violations.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.count(|anomaly| !anomaly.loses_a_write() && anomaly != Anomaly::Panic)
    }

    /// Each violation is counted by its likeliest kind.
    fn count(&self, is_meant: impl Fn(Anomaly) -> bool) -> u64 {
        let counted = self.violations.iter();
        counted
            .filter(|violation| {
                violation
                    .anomalies
                    .first()
                    .is_some_and(|kind| is_meant(*kind))
            })
            .count() as u64
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.histories += other.histories;
        self.faults += other.faults;
        self.crashes += other.crashes;
        self.violations.extend(other.violations);
    }
}
