//! The reader: opens an archive, polls it, and starts snapshots.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Error, ErrorKind, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::algorithm::{Poll, Question};
use super::cursor::Cursor;
use super::failure::failed;
use super::fetch::{self, Fetched};
use super::follow::Follow;
use super::identity::FileIdentity;
use super::snapshot::Snapshot;
use super::verify::Verified;

/// Log entries per batch, if nothing else is said.
const BATCH: u32 = 10_000;

/// How long a read waits for a lock. In WAL mode there is none to wait for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Tells which rows of a family of tables changed since a cursor. Reads only.
///
/// It holds one connection. Nothing is locked between calls, and nothing of the write-ahead log is pinned. Where the
/// path comes to name another file, the next call opens that one.
///
/// ```no_run
/// # async fn example(stored: Option<changestore_sql::contract::Cursor>) -> changestore_core::Result<()> {
/// use changestore_sql::contract::{ContractReader, Poll};
///
/// let mut reader = ContractReader::open("archive.db", "threads").await?;
/// match reader.poll(stored.as_ref()).await? {
///     Poll::Unchanged { next } => println!("nothing new up to {}", next.seq),
///     Poll::Rows(changes) => {
///         for row in &changes.rows {
///             println!("{} {} {}", row.operation, row.table, row.key);
///         }
///     }
///     Poll::Rebuild { reason, .. } => println!("read everything: {reason}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ContractReader {
    path: PathBuf,
    family: String,
    batch: u32,
    file: FileIdentity,
    connection: SqliteConnection,
    verified: Option<Verified>,
}

impl ContractReader {
    /// Opens an existing archive for a family of its tables. Whether there is a contract and such a family
    /// is for the polls to see: both may come and go.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) where there is no such file.
    pub async fn open(path: impl AsRef<Path>, family: impl Into<String>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let (connection, file) = connect(&path).await?;
        Ok(Self {
            path,
            family: family.into(),
            batch: BATCH,
            file,
            connection,
            verified: None,
        })
    }

    /// The most log entries that one poll reads, at least 1; 10,000 by default.
    #[must_use]
    pub fn with_batch(mut self, entries: u32) -> Self {
        self.batch = entries.max(1);
        self
    }

    /// The archive's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The family of tables.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// Says whether the family changed since the cursor, and which rows did. One statement as a rule; all that it
    /// says is of one snapshot, which is let go of before it returns.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `family` where the contract has no such family, with those
    /// that it has. Whatever hinders the reading of the file.
    pub async fn poll(&mut self, cursor: Option<&Cursor>) -> Result<Poll> {
        self.reopen_if_replaced().await?;
        let question = Question {
            family: &self.family,
            cursor,
            file: self.file,
            at_most: self.batch,
        };
        let memory = self.verified.as_ref();
        if let Some(poll) = question.ask_verified(&mut self.connection, memory).await? {
            return Ok(poll);
        }
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        let poll = question.ask(&mut transaction, &mut self.verified).await?;
        transaction.commit().await.map_err(failed)?;
        Ok(poll)
    }

    /// The same, and keeps the snapshot: what is read through it is of the same moment as what the poll
    /// says. It is for re-reading the changed rows, and all rows where that is called for. Let go of it soon:
    /// while it lives, the write-ahead log cannot be reset.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub async fn snapshot(&mut self, cursor: Option<&Cursor>) -> Result<Snapshot<'_>> {
        self.snapshot_of(cursor, self.batch).await
    }

    async fn snapshot_of(&mut self, cursor: Option<&Cursor>, at_most: u32) -> Result<Snapshot<'_>> {
        self.reopen_if_replaced().await?;
        let question = Question {
            family: &self.family,
            cursor,
            file: self.file,
            at_most,
        };
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        let memory = self.verified.as_ref();
        let poll = match question.ask_verified(&mut transaction, memory).await? {
            Some(poll) => poll,
            None => question.ask(&mut transaction, &mut self.verified).await?,
        };
        Ok(Snapshot::new(transaction, poll, self.verified.as_ref()))
    }

    /// The same as [`poll`](Self::poll), and the changed rows of these tables as they were at that moment, these
    /// columns of each: all in one statement as a rule. For each table name its columns. A batch has at most 1,000 log
    /// entries, whatever a poll may read.
    ///
    /// A row is found by exactly its key: 1, '1', 1.0 and x'31' are four keys, and `a` is not `A` whatever the
    /// collation. What is absent was deleted. Where composite keys hold a REAL that is not whole, a BLOB or text with
    /// control characters, the rows are read in a [`snapshot`](Self::snapshot).
    ///
    /// # Errors
    /// As [`poll`](Self::poll). [`Configuration`](ErrorKind::Configuration) where a table has no such
    /// column, [`Corrupt`](ErrorKind::Corrupt) where a text is not UTF-8.
    pub async fn fetch(
        &mut self,
        cursor: Option<&Cursor>,
        wanted: &[(&str, &[&str])],
    ) -> Result<Fetched> {
        if let Some(fetched) = self.fetch_at_once(cursor, wanted).await? {
            return Ok(fetched);
        }
        let at_most = self.batch.min(fetch::MOST);
        let mut snapshot = self.snapshot_of(cursor, at_most).await?;
        let mut rows = HashMap::new();
        for (table, columns) in wanted {
            rows.insert(Arc::from(*table), snapshot.rows(table, columns).await?);
        }
        Ok(Fetched::new(snapshot.end().await?, rows))
    }

    /// In one statement, if that can do it.
    pub(super) async fn fetch_at_once(
        &mut self,
        cursor: Option<&Cursor>,
        wanted: &[(&str, &[&str])],
    ) -> Result<Option<Fetched>> {
        self.reopen_if_replaced().await?;
        let Some(verified) = &mut self.verified else {
            return Ok(None);
        };
        let question = Question {
            family: &self.family,
            cursor,
            file: self.file,
            at_most: self.batch.min(fetch::MOST),
        };
        question
            .fetch_verified(&mut self.connection, verified, wanted)
            .await
    }

    /// Waits for changes, one after the other, from the cursor on.
    pub fn follow(&mut self, cursor: Option<Cursor>) -> Follow<'_> {
        Follow::new(self, cursor)
    }

    /// What has been committed, of the file that the path names now; none while there is none.
    pub(super) async fn mark(&mut self) -> Result<Option<(FileIdentity, i64)>> {
        if let Err(error) = self.reopen_if_replaced().await {
            return match self.path.try_exists() {
                Ok(false) => Ok(None),
                _ => Err(error),
            };
        }
        let version = sqlx::query_scalar("PRAGMA data_version")
            .fetch_one(&mut self.connection)
            .await
            .map_err(failed)?;
        Ok(Some((self.file, version)))
    }

    /// Takes note of a file that was put in the place of the one that is open.
    async fn reopen_if_replaced(&mut self) -> Result<()> {
        let there = FileIdentity::of(&self.path).map_err(|error| missing(&self.path, error))?;
        if there != self.file {
            (self.connection, self.file) = connect(&self.path).await?;
            self.verified = None;
        }
        Ok(())
    }
}

/// A connection, and the identity of the very file that it has open.
async fn connect(path: &Path) -> Result<(SqliteConnection, FileIdentity)> {
    loop {
        let before = FileIdentity::of(path).map_err(|error| missing(path, error))?;
        let mut connection = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .busy_timeout(BUSY_TIMEOUT)
            // A batch comes packed, in few rows.
            .row_buffer_size(8)
            .disable_statement_logging()
            .connect()
            .await
            .map_err(failed)?;
        // SQLite opens the file with the first statement that needs it.
        let _: i64 = sqlx::query_scalar("PRAGMA schema_version")
            .fetch_one(&mut connection)
            .await
            .map_err(failed)?;
        if FileIdentity::of(path).is_ok_and(|after| after == before) {
            return Ok((connection, before));
        }
    }
}

fn missing(path: &Path, error: std::io::Error) -> Error {
    let error = match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(ErrorKind::Configuration)
            .with_message(format!("{} does not exist", path.display()))
            .with_source(error),
        std::io::ErrorKind::PermissionDenied => Error::new(ErrorKind::PermissionDenied)
            .with_message(format!("{} may not be read", path.display()))
            .with_source(error),
        _ => Error::new(ErrorKind::Unavailable).with_source(error),
    };
    error.with_backend("sqlite")
}
