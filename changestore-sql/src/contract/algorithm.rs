//! The reader algorithm: what is looked at, in which order, and what it comes down to.

use changestore_core::Result;
use sqlx::sqlite::SqliteConnection;

use super::changes::{Batch, Changes};
use super::cursor::Cursor;
use super::decide::{Decision, RebuildReason, decide};
use super::failure::{failed, is_schema};
use super::identity::FileIdentity;
use super::observe::{Observed, observe};
use super::verify::{Condition, Tables, Verified, condition, tables, unknown_family};

/// What has become of a family since the cursor.
#[derive(Debug, Clone, PartialEq)]
pub enum Poll {
    /// No row of it was written.
    Unchanged {
        /// To be stored; it saves the next poll from looking at what was written elsewhere.
        next: Cursor,
    },
    /// These rows were written: read each again by its key; one that is absent was deleted.
    Rows(Changes),
    /// All of it has to be read anew.
    Rebuild {
        /// Why.
        reason: RebuildReason,
        /// To be stored when all has been read. None where the archive has no contract that could give one:
        /// then every poll says this.
        next: Option<Cursor>,
    },
}

impl Poll {
    /// The cursor to be stored when what it says has been dealt with.
    #[must_use]
    pub fn next(&self) -> Option<&Cursor> {
        match self {
            Self::Unchanged { next } => Some(next),
            Self::Rows(changes) => Some(&changes.next),
            Self::Rebuild { next, .. } => next.as_ref(),
        }
    }
}

/// What a consumer asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) family: &'a str,
    pub(super) cursor: Option<&'a Cursor>,
    /// The file that the connection has open.
    pub(super) file: FileIdentity,
    /// Log entries.
    pub(super) at_most: u32,
}

impl Question<'_> {
    /// The answer in one statement, if the contract that was verified still stands.
    pub(super) async fn ask_verified(
        &self,
        connection: &mut SqliteConnection,
        memory: Option<&Verified>,
    ) -> Result<Option<Poll>> {
        let Some(verified) = memory else {
            return Ok(None);
        };
        match self.observe(connection, &verified.tables).await {
            Ok(Some((observed, entries))) if verified.holds(&observed) => {
                self.conclude(observed, &entries, verified).map(Some)
            }
            Ok(_) => Ok(None),
            // The contract is gone, or of another version.
            Err(error) if is_schema(&error) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The answer, step by step, in the caller's read transaction. What was verified is remembered.
    pub(super) async fn ask(
        &self,
        connection: &mut SqliteConnection,
        memory: &mut Option<Verified>,
    ) -> Result<Poll> {
        *memory = None;
        let (unarmed, last_changes) = match condition(connection, self.family).await? {
            Condition::Unusable(reason) => return Ok(Poll::Rebuild { reason, next: None }),
            Condition::Usable {
                unarmed,
                last_changes,
            } => (unarmed, last_changes),
        };
        let tables = tables(connection, self.family, last_changes).await?;
        let observed = self.observe(connection, &tables).await;
        let Some((observed, entries)) = observed.map_err(failed)? else {
            let reason = RebuildReason::Absent;
            return Ok(Poll::Rebuild { reason, next: None });
        };
        if let Some(table) = unarmed {
            return Ok(Poll::Rebuild {
                reason: RebuildReason::Unarmed(table),
                next: Some(observed.seen.now),
            });
        }
        if tables.by_id.is_empty()
            && let Some(error) = unknown_family(connection, self.family).await
        {
            return Err(error);
        }
        let verified = Verified::new(tables, &observed.seen.now);
        self.conclude(observed, &entries, memory.insert(verified))
    }

    async fn observe(
        &self,
        connection: &mut SqliteConnection,
        tables: &Tables,
    ) -> Result<Option<(Observed, Vec<u8>)>, sqlx::Error> {
        observe(
            connection,
            self.family,
            tables,
            self.cursor,
            self.file,
            self.at_most,
        )
        .await
    }

    /// What the decision comes down to for the consumer.
    pub(super) fn conclude(
        &self,
        observed: Observed,
        entries: &[u8],
        verified: &Verified,
    ) -> Result<Poll> {
        let seen = observed.seen;
        match decide(self.cursor, &seen) {
            Decision::Unchanged => Ok(Poll::Unchanged { next: seen.now }),
            Decision::Rebuild(reason) => Ok(Poll::Rebuild {
                reason,
                next: Some(seen.now),
            }),
            Decision::Rows => {
                let batch = Batch::unpack(entries, &verified.tables.by_id)?;
                let full = u32::try_from(batch.entries).is_ok_and(|read| read >= self.at_most);
                let more = full && seen.last.is_some_and(|last| batch.last < last);
                let mut next = seen.now;
                if more {
                    next.seq = batch.last;
                }
                Ok(Poll::Rows(Changes {
                    rows: batch.rows,
                    next,
                    more,
                }))
            }
        }
    }
}
