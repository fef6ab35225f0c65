//! A poll whose read transaction goes on, so that what it named can be read as it was at that moment.

use changestore_core::Result;
use sqlx::Transaction;
use sqlx::sqlite::{Sqlite, SqliteConnection};

use super::algorithm::Poll;
use super::failure::failed;
use super::rows::{ChangedRow, RowSource};
use super::verify::Verified;

/// What a poll said, and the archive as it was at that moment.
///
/// Dropping it lets go of the archive without waiting; [`end`](Self::end) waits.
#[derive(Debug)]
pub struct Snapshot<'r> {
    transaction: Transaction<'r, Sqlite>,
    poll: Poll,
    verified: Option<&'r Verified>,
}

impl<'r> Snapshot<'r> {
    pub(super) fn new(
        transaction: Transaction<'r, Sqlite>,
        poll: Poll,
        verified: Option<&'r Verified>,
    ) -> Self {
        Self {
            transaction,
            poll,
            verified,
        }
    }

    /// What has become of the family.
    #[must_use]
    pub fn poll(&self) -> &Poll {
        &self.poll
    }

    /// Reads the changed rows of one table again, these columns of each, in one statement; none where the
    /// poll named no row of it. The order is that of the poll's changes.
    ///
    /// A row is found by exactly its key: 1, '1', 1.0 and x'31' are four keys, and `a` is not `A` whatever the
    /// collation. What is absent was deleted. Where keys hold a REAL or a BLOB, or text with NUL, there is a
    /// statement for every few hundred rows.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) where the table has no such column.
    /// [`Corrupt`](changestore_core::ErrorKind::Corrupt) where a text is not UTF-8.
    pub async fn rows(&mut self, table: &str, columns: &[&str]) -> Result<Vec<ChangedRow>> {
        let (Poll::Rows(changes), Some(verified)) = (&self.poll, self.verified) else {
            return Ok(Vec::new());
        };
        let changes: Vec<_> = changes
            .rows
            .iter()
            .filter(|change| *change.table == *table)
            .collect();
        let table = verified
            .tables
            .by_id
            .values()
            .find(|known| *known.name == *table);
        match table {
            Some(table) if !changes.is_empty() => {
                let source = RowSource::new(table, columns);
                source.read(&mut self.transaction, &changes).await
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The connection, for the consumer's own SELECTs of the same moment: all rows, where the poll asks for
    /// that, or rows joined with others.
    pub fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }

    /// Lets go of the archive and gives what the poll said.
    ///
    /// # Errors
    /// Where the connection broke.
    pub async fn end(self) -> Result<Poll> {
        self.transaction.commit().await.map_err(failed)?;
        Ok(self.poll)
    }
}
