//! The decision: has the family changed since the cursor, and can the log say which rows?
//!
//! It is the reader algorithm of the documentation, step for step and in its order, on what one read
//! transaction has seen. Nothing is read here.

use std::fmt;

use super::cursor::Cursor;

/// Why a consumer has to read its tables anew.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RebuildReason {
    /// There is no contract in the archive, or not all of it is there and as it was created. It stays so until the owner enables it.
    Absent,
    /// The contract is of a version that this reader does not know.
    UnknownVersion(i64),
    /// A table of the family is not tracked, or its triggers are not those that it needs as it is now: some are
    /// missing or altered, or it has another key or one more unique index. Changes since then may not be recorded. It stays so until the owner, or any writable open of the store, re-arms it. The log's
    /// own trigger missing names the log.
    Unarmed(String),
    /// The consumer has no cursor yet.
    NoCursor,
    /// The path names another file than the cursor's: it was restored or swapped.
    FileReplaced,
    /// The contract was created anew.
    Epoch,
    /// A table was re-armed, the tracked tables changed, or the owner rewrote rows past the triggers.
    Generation,
    /// A DDL statement ran, or VACUUM: a table may have been rebuilt without its triggers.
    SchemaVersion,
    /// The archive's sequence is behind the cursor: its content was restored.
    SequenceBehind,
    /// The log no longer reaches back to the cursor.
    Pruned,
    /// A table in table mode has changed, and which of its rows did is not recorded.
    TableMode(String),
}

impl RebuildReason {
    /// A stable word for machines.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::UnknownVersion(_) => "unknown_version",
            Self::Unarmed(_) => "unarmed",
            Self::NoCursor => "no_cursor",
            Self::FileReplaced => "file_replaced",
            Self::Epoch => "epoch",
            Self::Generation => "generation",
            Self::SchemaVersion => "schema_version",
            Self::SequenceBehind => "sequence_behind",
            Self::Pruned => "pruned",
            Self::TableMode(_) => "table_mode",
        }
    }
}

/// In words, for people.
impl fmt::Display for RebuildReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("the archive has no change contract"),
            Self::UnknownVersion(version) => {
                write!(f, "the change contract is of version {version}, not 1")
            }
            Self::Unarmed(table) => write!(f, "the table {table:?} is not tracked and armed"),
            Self::NoCursor => f.write_str("there is no cursor yet"),
            Self::FileReplaced => f.write_str("the file is another one than the cursor's"),
            Self::Epoch => f.write_str("the change contract was created anew"),
            Self::Generation => f.write_str("the owner advanced the generation"),
            Self::SchemaVersion => f.write_str("the schema changed"),
            Self::SequenceBehind => f.write_str("the archive is older than the cursor"),
            Self::Pruned => f.write_str("the log no longer reaches back to the cursor"),
            Self::TableMode(table) => {
                write!(
                    f,
                    "the table {table:?} changed, of which only that is recorded"
                )
            }
        }
    }
}

/// What one read transaction saw of a whole and armed contract.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The place in the sequence, in this file.
    pub(super) now: Cursor,
    /// Log entries up to this one may be gone.
    pub(super) pruned_through: i64,
    /// The latest change of the family's tables. Only known where the sequence is past the cursor; up to
    /// there it cannot be later than the cursor.
    pub(super) last: Option<i64>,
    /// A table of the family in table mode that changed after the cursor.
    pub(super) table_mode: Option<String>,
}

/// What to tell the consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Unchanged,
    Rows,
    Rebuild(RebuildReason),
}

/// Steps 1, 3 and 4; step 2, whether the tables are armed, comes before.
pub(super) fn decide(cursor: Option<&Cursor>, seen: &Seen) -> Decision {
    let Some(cursor) = cursor else {
        return Decision::Rebuild(RebuildReason::NoCursor);
    };
    if let Some(reason) = invalid(cursor, &seen.now) {
        return Decision::Rebuild(reason);
    }
    if seen.last.is_none_or(|last| last <= cursor.seq) {
        return Decision::Unchanged;
    }
    if cursor.seq < seen.pruned_through {
        return Decision::Rebuild(RebuildReason::Pruned);
    }
    match &seen.table_mode {
        Some(table) => Decision::Rebuild(RebuildReason::TableMode(table.clone())),
        None => Decision::Rows,
    }
}

/// Why a cursor says nothing about the archive as it is now.
fn invalid(cursor: &Cursor, now: &Cursor) -> Option<RebuildReason> {
    if !cursor.file.is_same(&now.file) {
        Some(RebuildReason::FileReplaced)
    } else if cursor.epoch != now.epoch {
        Some(RebuildReason::Epoch)
    } else if cursor.generation != now.generation {
        Some(RebuildReason::Generation)
    } else if cursor.schema_version != now.schema_version {
        Some(RebuildReason::SchemaVersion)
    } else if now.seq < cursor.seq {
        Some(RebuildReason::SequenceBehind)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = r#"{"epoch":"e","generation":2,"schema_version":3,"seq":100,"file":{"device":1,"inode":2,"born_ns":3}}"#;

    fn cursor(change: impl Fn(&mut Cursor)) -> Cursor {
        let mut cursor = AT.parse().unwrap();
        change(&mut cursor);
        cursor
    }

    /// What is decided at 100, where the family last changed at 90 and the log reaches back to 50.
    fn decision(change: impl Fn(&mut Cursor)) -> Decision {
        let seen = Seen {
            now: cursor(|_| {}),
            pruned_through: 50,
            last: Some(90),
            table_mode: None,
        };
        decide(Some(&cursor(change)), &seen)
    }

    #[test]
    fn the_sequence_decides() {
        assert_eq!(decision(|cursor| cursor.seq = 100), Decision::Unchanged);
        assert_eq!(decision(|cursor| cursor.seq = 90), Decision::Unchanged);
        assert_eq!(decision(|cursor| cursor.seq = 89), Decision::Rows);
        assert_eq!(decision(|cursor| cursor.seq = 50), Decision::Rows);
        let pruned = Decision::Rebuild(RebuildReason::Pruned);
        assert_eq!(decision(|cursor| cursor.seq = 49), pruned);
        let behind = Decision::Rebuild(RebuildReason::SequenceBehind);
        assert_eq!(decision(|cursor| cursor.seq = 101), behind);
    }

    #[test]
    fn what_makes_a_cursor_invalid_comes_first() {
        let rebuild = Decision::Rebuild;
        assert_eq!(
            decision(|of| of.file.inode = 9),
            rebuild(RebuildReason::FileReplaced)
        );
        assert_eq!(
            decision(|of| of.file.born_ns = Some(9)),
            rebuild(RebuildReason::FileReplaced)
        );
        assert_eq!(
            decision(|of| of.epoch = "other".into()),
            rebuild(RebuildReason::Epoch)
        );
        assert_eq!(
            decision(|of| of.generation = 1),
            rebuild(RebuildReason::Generation)
        );
        assert_eq!(
            decision(|of| of.schema_version = 4),
            rebuild(RebuildReason::SchemaVersion)
        );
        // Also where the sequence alone would say that nothing changed.
        let all = |of: &mut Cursor| (of.epoch, of.generation, of.seq) = ("other".into(), 1, 101);
        assert_eq!(decision(all), rebuild(RebuildReason::Epoch));
    }

    #[test]
    fn a_family_that_never_changed_and_one_without_rows_to_tell() {
        let mut seen = Seen {
            now: cursor(|_| {}),
            pruned_through: 50,
            last: None,
            table_mode: Some("counts".into()),
        };
        let old = cursor(|cursor| cursor.seq = 10);
        assert_eq!(decide(Some(&old), &seen), Decision::Unchanged);
        assert_eq!(
            decide(None, &seen),
            Decision::Rebuild(RebuildReason::NoCursor)
        );
        seen.last = Some(60);
        assert_eq!(
            decide(Some(&old), &seen),
            Decision::Rebuild(RebuildReason::Pruned)
        );
        let counts = Decision::Rebuild(RebuildReason::TableMode("counts".into()));
        let recent = cursor(|cursor| cursor.seq = 55);
        assert_eq!(decide(Some(&recent), &seen), counts);
    }
}
