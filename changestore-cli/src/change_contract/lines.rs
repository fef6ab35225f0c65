//! How the contract's terms look in lines for people.

use std::fmt;

use changestore_sql::contract::Position;

/// Where a contract's sequence is.
pub(super) struct PositionText<'a>(pub(super) &'a Position);

impl fmt::Display for PositionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position {
            epoch,
            generation,
            schema_version,
            seq,
            ..
        } = self.0;
        write!(
            f,
            "epoch {epoch}, generation {generation}, schema version {schema_version}, seq {seq}"
        )
    }
}
