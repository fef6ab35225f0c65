//! Following an archive: each change once, as it happens, without asking all the time.

use changestore_core::Result;

use super::algorithm::Poll;
use super::cursor::Cursor;
use super::identity::FileIdentity;
use super::reader::ContractReader;
use super::wake::Wake;

/// Whether anything at all was committed: the file, and SQLite's counter of others' commits to it.
type Mark = (FileIdentity, i64);

/// Gives the changes of a family one after the other, and waits where there are none.
///
/// Writes are told of by the operating system where it can, and looked for a few times in a second where it
/// cannot; either way a look costs microseconds. Dropping it ends the watch and leaves the reader as it
/// was. A file that is missing is waited for.
///
/// ```no_run
/// # async fn example() -> changestore_core::Result<()> {
/// use changestore_sql::contract::{ContractReader, Poll};
///
/// let mut reader = ContractReader::open("archive.db", "claims").await?;
/// let mut follow = reader.follow(None);
/// loop {
///     match follow.next().await? {
///         Poll::Rows(changes) => println!("{} rows changed", changes.rows.len()),
///         Poll::Rebuild { reason, .. } => println!("read everything: {reason}"),
///         Poll::Unchanged { .. } => unreachable!("only changes are given"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Follow<'r> {
    reader: &'r mut ContractReader,
    cursor: Option<Cursor>,
    wake: Wake,
    /// What had been committed at the last look.
    mark: Option<Mark>,
}

impl<'r> Follow<'r> {
    pub(super) fn new(reader: &'r mut ContractReader, cursor: Option<Cursor>) -> Self {
        Self {
            wake: Wake::new(reader.path()),
            reader,
            cursor,
            mark: None,
        }
    }

    /// The next batch of rows, or the next reason to read everything anew; never
    /// [`Unchanged`](Poll::Unchanged). The first comes at once if the cursor is behind, or is none. The call after it
    /// goes on from there: deal with what it gave, or drop it to begin again at a stored cursor.
    ///
    /// An archive without a contract, or with an unarmed one, is to be read anew with every commit, and that is
    /// what it says. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Those of [`ContractReader::poll`]. The next call tries again.
    pub async fn next(&mut self) -> Result<Poll> {
        loop {
            // Taken before the poll: a commit between the two is looked for once more, and not missed.
            let mark = self.reader.mark().await?;
            if mark.is_some() && mark != self.mark {
                let poll = self.reader.poll(self.cursor.as_ref()).await?;
                let more = matches!(&poll, Poll::Rows(changes) if changes.more);
                if !more {
                    self.mark = mark;
                }
                self.cursor = poll.next().cloned();
                if !matches!(poll, Poll::Unchanged { .. }) {
                    return Ok(poll);
                }
            }
            self.wake.wait().await;
        }
    }

    /// The cursor after what [`next`](Self::next) gave last.
    #[must_use]
    pub fn cursor(&self) -> Option<&Cursor> {
        self.cursor.as_ref()
    }
}
