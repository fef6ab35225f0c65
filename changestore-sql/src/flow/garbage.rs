//! Expired documents are deleted little by little, by those who write.
//!
//! An expired record is absent to every operation at once; its row is only space. After some
//! writes of documents the writer looks through a bounded stretch of the table in the order of its
//! primary key, deletes what is long expired, and remembers where it stopped. So the cost of a
//! write is bounded, no index on the expiry is needed, and a table that is written keeps its garbage
//! within bounds.

use crate::flow::write::Write;

/// A step comes after so many writes of documents …
const WRITES_PER_STEP: usize = 128;

/// … and looks at so many rows: more than can have come since the last one, or it would never be
/// through.
pub(crate) const ROWS_PER_STEP: u32 = 512;

/// The key behind which to look on; none is the beginning.
pub(crate) type Position = Option<(String, String)>;

/// What a step did.
#[derive(Debug)]
pub(crate) struct Step {
    /// How many rows it deleted.
    pub(crate) deleted: u64,
    /// Where to go on; none at the end of the table.
    pub(crate) next: Position,
}

/// When the next step is due, and where it begins.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    writes: usize,
    position: Position,
}

impl Pace {
    /// Counts a write that was committed.
    pub(crate) fn count(&mut self, write: &Write) {
        self.writes += usize::from(write.is_of_a_document());
    }

    /// Whether a step is due now.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn is_due(&self) -> bool {
        self.writes >= WRITES_PER_STEP
    }

    /// Where to begin, if a step is due now.
    pub(crate) fn due(&mut self) -> Option<Position> {
        if self.writes < WRITES_PER_STEP {
            return None;
        }
        self.writes = 0;
        Some(self.position.clone())
    }

    /// The next step goes on here; at the end of the table it begins again.
    pub(crate) fn advance(&mut self, next: Position) {
        self.position = next;
    }
}
