//! What enabling reports.

use serde::Serialize;

use super::installed::Position;

/// What enabling has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Enabled {
    /// Whether the contract was created: with a new epoch, and nothing in its log.
    pub created: bool,
    /// Tables that are tracked since now, in a contract that was there before.
    pub added: Vec<String>,
    /// Tables that are no longer tracked.
    pub removed: Vec<String>,
    /// Tables that were tracked, but whose triggers were missing, altered, or of another mode or shape.
    pub rearmed: Vec<String>,
    /// Whether the families changed.
    pub families_changed: bool,
    /// Whether the retention changed, of a contract that was there before.
    pub retention_changed: bool,
    /// The sequence values that the log keeps.
    pub retention: u64,
    /// Where the sequence is.
    pub position: Position,
}

impl Enabled {
    /// Whether everything was already as planned.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        !self.created
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.rearmed.is_empty()
            && !self.families_changed
            && !self.retention_changed
    }
}
