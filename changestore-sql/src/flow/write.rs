//! A write on its way to the database, and what became of it: the same for every engine.

use changestore_core::{
    ChangeKey, ChangeRecord, Condition, CreateOutcome, Etag, Key, MetadataUpdate, NewRecord,
    Record, Timestamp,
};

/// A checked write, with everything that it needs: it runs where its caller is not.
#[derive(Debug)]
pub(crate) enum Write {
    Create(ChangeRecord),
    UpdateMetadata {
        key: ChangeKey,
        update: MetadataUpdate,
    },
    Put {
        record: NewRecord,
        condition: Condition,
        /// Drawn before the first attempt.
        etag: Etag,
    },
    Delete {
        key: Key,
        condition: Condition,
    },
    Increment {
        key: Key,
        delta: i64,
        expire_at: Option<Timestamp>,
    },
}

/// What a write that did its work returns.
#[derive(Debug)]
pub(crate) enum Written {
    Create(CreateOutcome),
    UpdateMetadata,
    Put(Record),
    Delete,
    Increment(i64),
}

/// Writes of one kind that a server can do in one statement.
#[cfg(any(feature = "postgres", feature = "mysql"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kin {
    Creates,
    /// Without a condition.
    Puts,
}

impl Write {
    /// Whether it leaves a row that may expire, or takes one's place.
    pub(crate) fn is_of_a_document(&self) -> bool {
        !matches!(self, Self::Create(_) | Self::UpdateMetadata { .. })
    }

    /// With which other writes it can become one statement.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn kin(&self) -> Option<Kin> {
        match self {
            Self::Create(_) => Some(Kin::Creates),
            Self::Put {
                condition: Condition::None,
                ..
            } => Some(Kin::Puts),
            _ => None,
        }
    }

    /// The key of a record to be put.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn document(&self) -> Option<&Key> {
        match self {
            Self::Put { record, .. } => Some(record.key()),
            _ => None,
        }
    }

    /// About how many bytes it takes to the database, for bounding a batch.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Create(claim) => claim.metadata.as_str().len(),
            Self::UpdateMetadata { update, .. } => update.metadata.as_str().len(),
            Self::Put { record, .. } => record.data().len(),
            Self::Delete { .. } | Self::Increment { .. } => 0,
        }
    }
}
