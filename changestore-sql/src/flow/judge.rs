//! From what a statement did to what the contract says of it: the same for every engine.
//!
//! Every write is one statement that carries its whole condition, so the database alone decides. Where
//! it did nothing, what stood at the key in the same transaction tells why.

use changestore_core::{Condition, CreateOutcome, Error, ErrorKind, RecordKind, Result, Version};

use crate::flow::write::{Write, Written};

/// What one write's statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It wrote; the number is the version that it left, or the counter's value.
    Applied(i64),
    /// It changed nothing, and this stood there.
    Nothing(Standing),
}

/// What stands at a key; an expired record or counter is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Absent,
    Claim(Version),
    Record(Version),
    Counter,
    /// Something that no write of this library leaves.
    Damaged,
}

/// The answer to a write's caller.
pub(crate) fn judge(write: Write, effect: Effect) -> Result<Written> {
    match (write, effect) {
        (Write::Create(_), Effect::Applied(_)) => Ok(Written::Create(CreateOutcome::Created)),
        (Write::Create(_), Effect::Nothing(_)) => Ok(Written::Create(CreateOutcome::AlreadyThere)),
        (Write::UpdateMetadata { .. }, Effect::Applied(_)) => Ok(Written::UpdateMetadata),
        (Write::Put { record, etag, .. }, Effect::Applied(version)) => {
            let version = Version::try_from(version)
                .map_err(|_| Error::corrupt("a stored version is negative"))?;
            Ok(Written::Put(record.into_record(version, etag)))
        }
        (Write::Delete { .. }, Effect::Applied(_)) => Ok(Written::Delete),
        (Write::Increment { .. }, Effect::Applied(value)) => Ok(Written::Increment(value)),
        (write, Effect::Nothing(standing)) => Err(refusal(&write, standing)),
    }
}

/// Why a write changed nothing.
fn refusal(write: &Write, standing: Standing) -> Error {
    let kind = match (write, standing) {
        (_, Standing::Damaged) => {
            return Error::corrupt("the row is neither a record nor a counter, or has no possible version");
        }
        (Write::UpdateMetadata { .. } | Write::Delete { .. }, Standing::Absent)
        // A delete does not see counters.
        | (Write::Delete { .. }, Standing::Counter) => ErrorKind::NotFound,
        (Write::UpdateMetadata { .. }, Standing::Claim(stored)) => {
            ErrorKind::VersionMismatch { stored }
        }
        (Write::Put { .. }, Standing::Counter) => ErrorKind::WrongKind {
            stored: RecordKind::Counter,
        },
        (Write::Increment { .. }, Standing::Record(_)) => ErrorKind::WrongKind {
            stored: RecordKind::Record,
        },
        (Write::Increment { delta, .. }, Standing::Counter) => {
            return Error::counter_overflow(*delta);
        }
        (Write::Put { condition, .. }, Standing::Record(version))
            if version == Version::MAX && !matches!(condition, Condition::IfAbsent) =>
        {
            return Error::corrupt("the stored version is the greatest there is");
        }
        (Write::Put { .. } | Write::Delete { .. }, Standing::Record(_) | Standing::Absent) => {
            ErrorKind::ConditionFailed
        }
        // Something between the statement and its table, such as a trigger of the database's owner.
        _ => {
            return Error::new(ErrorKind::Other)
                .with_message("the database left the write out without a reason");
        }
    };
    Error::new(kind)
}
