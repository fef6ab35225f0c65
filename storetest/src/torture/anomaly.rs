//! What can be wrong, by name.

use std::fmt;

/// A kind of wrong answer.
///
/// Of a history that no order of its calls explains, an anomaly is a mistake that would: the checker allows one kind of
/// mistake at a time, and names those with which there is an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Anomaly {
    /// A write was acknowledged and has had no effect.
    SwallowedFailure,
    /// A write was acknowledged although its condition did not hold: what it was to protect is overwritten.
    LostUpdate,
    /// A read returned what was there before.
    StaleRead,
    /// An increment counted twice.
    DoubleIncrement,
    /// What had expired was there again.
    ResurrectedExpired,
    /// Two writes have one etag, or one write has two.
    ReusedEtag,
    /// Two writes have one version, or there is a gap between them.
    ReusedVersion,
    /// A write was refused, or said to have failed without effect, and has happened all the same.
    AppliedFailure,
    /// No single kind of mistake explains it.
    NotLinearizable,
    /// The checker gave up. The history was too wide for it, which is a mistake of the test.
    Undecided,
    /// The store and its model disagree.
    UnlikeTheModel,
    /// An answer that is wrong by itself: data that nobody wrote, another key than was asked for.
    WrongAnswer,
    /// A call did not end.
    Unbounded,
    /// A call failed after the network was well again.
    Unhealthy,
    /// A panic, in the store or in a task of its.
    Panic,
}

impl Anomaly {
    /// The name, as reports print it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SwallowedFailure => "swallowed failure",
            Self::LostUpdate => "lost update",
            Self::StaleRead => "stale read",
            Self::DoubleIncrement => "double increment",
            Self::ResurrectedExpired => "resurrected expired record",
            Self::ReusedEtag => "reused etag",
            Self::ReusedVersion => "reused version",
            Self::AppliedFailure => "failure that happened all the same",
            Self::NotLinearizable => "not linearizable",
            Self::Undecided => "undecided",
            Self::UnlikeTheModel => "unlike the model",
            Self::WrongAnswer => "wrong answer",
            Self::Unbounded => "unbounded call",
            Self::Unhealthy => "unhealthy afterwards",
            Self::Panic => "panic",
        }
    }

    /// Whether an acknowledged write is gone.
    #[must_use]
    pub const fn loses_a_write(self) -> bool {
        matches!(self, Self::SwallowedFailure | Self::LostUpdate)
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that the contract forbids and that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The kinds of mistake that explain it, the likeliest first; at least one.
    pub anomalies: Vec<Anomaly>,
    /// The seed of the round in which it was seen.
    pub seed: u64,
    /// What was seen, for people.
    pub shown: String,
}

impl Violation {
    pub(super) fn new(anomaly: Anomaly, seed: u64, shown: impl Into<String>) -> Self {
        Self {
            anomalies: vec![anomaly],
            seed,
            shown: shown.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .anomalies
            .iter()
            .map(|anomaly| anomaly.name())
            .collect();
        writeln!(f, "{} (seed {})", names.join(", or "), self.seed)?;
        f.write_str(&self.shown)
    }
}
