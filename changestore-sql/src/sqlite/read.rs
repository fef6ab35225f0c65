//! Reads: each is one statement on one connection, beside whatever is being written.

use std::future::Future;

use changestore_core::{ChangeRecord, Key, Record, Result, Timestamp};
use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{Decode, Row as _, Type, TypeInfo as _, ValueRef as _};
use tokio::time::Instant;

use super::codes::{self, SQLITE};
use super::statements;
use super::store::Inner;
use crate::flow::backoff::Backoff;
use crate::flow::classify::Cause;
use crate::flow::contracts::Backend;
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::{Write, Written};

/// One SELECT and what becomes of its rows.
pub(super) trait Read: Sync {
    type Output;

    /// Runs it; the time is taken when the connection is there.
    fn run(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> impl Future<Output = Result<Self::Output, sqlx::Error>> + Send;
}

impl Inner {
    /// Runs a read on a connection of its own; again if a lock is in the way.
    pub(super) async fn read<R: Read>(&self, read: &R) -> Result<R::Output> {
        let mut deadline = None;
        let mut backoff = Backoff::default();
        loop {
            self.check_open()?;
            let error = match self.readers.take().await {
                Ok(mut reader) => match read.run(&mut reader, self.clock.now()).await {
                    Ok(value) => return Ok(value),
                    Err(error) => {
                        if codes::is_broken(&error) {
                            reader.discard();
                        }
                        error
                    }
                },
                // Closed while it waited for a connection.
                Err(sqlx::Error::PoolClosed) => {
                    self.check_open()?;
                    sqlx::Error::PoolClosed
                }
                Err(error) => error,
            };
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.lock_timeout);
            if !codes::is_locked(&error) || Instant::now() >= deadline {
                return Err(Cause::new(error, &SQLITE).to_error());
            }
            backoff.wait().await;
        }
    }
}

impl Backend for Inner {
    const NAME: &'static str = SQLITE.backend;

    async fn write(&self, write: Write) -> Result<Written> {
        self.writer()?.write(write).await
    }

    async fn claims(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let rows = self.read(&ClaimsOf { queue, uri }).await?;
        rows.into_iter()
            .map(|row| row.into_record(queue, uri))
            .collect()
    }

    async fn record(&self, key: &Key) -> Result<Option<Record>> {
        let row = self.read(&RecordAt(key)).await?;
        row.map(|row| row.into_record(key.clone())).transpose()
    }
}

struct ClaimsOf<'a> {
    queue: &'a str,
    uri: &'a str,
}

impl Read for ClaimsOf<'_> {
    type Output = Vec<ClaimRow>;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
        _now: Timestamp,
    ) -> Result<Vec<ClaimRow>, sqlx::Error> {
        let rows = sqlx::query(statements::GET_BY_URI)
            .bind(self.queue)
            .bind(self.uri)
            .fetch_all(connection)
            .await?;
        rows.iter().map(claim_row).collect()
    }
}

struct RecordAt<'a>(&'a Key);

impl Read for RecordAt<'_> {
    type Output = Option<RecordRow>;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> Result<Option<RecordRow>, sqlx::Error> {
        let row = sqlx::query(statements::GET)
            .bind(self.0.pk())
            .bind(self.0.sk())
            .bind(now.as_millis())
            .fetch_optional(connection)
            .await?;
        row.map(|row| record_row(&row, 0)).transpose()
    }
}

fn claim_row(row: &SqliteRow) -> Result<ClaimRow, sqlx::Error> {
    Ok(ClaimRow {
        request_id: there(row, 0)?,
        version: there(row, 1)?,
        created_at: there(row, 2)?,
        updated_at: there(row, 3)?,
        metadata: there(row, 4)?,
    })
}

/// A record's columns, from this one on.
pub(super) fn record_row(row: &SqliteRow, first: usize) -> Result<RecordRow, sqlx::Error> {
    Ok(RecordRow {
        version: there(row, first)?,
        etag: there(row, first + 1)?,
        expire_at: row.try_get(first + 2)?,
        data: bytes(row, first + 3)?,
    })
}

/// A value that every row has: asked for as it is, NULL would come as a zero or as an empty text.
pub(super) fn there<'r, T>(row: &'r SqliteRow, column: usize) -> Result<T, sqlx::Error>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    let value: Option<T> = row.try_get(column)?;
    value.ok_or_else(|| impossible(column, "it is NULL"))
}

/// A BLOB: a text would come as its bytes.
fn bytes(row: &SqliteRow, column: usize) -> Result<Vec<u8>, sqlx::Error> {
    if row.try_get_raw(column)?.type_info().name() == "TEXT" {
        return Err(impossible(column, "it is a text"));
    }
    there(row, column)
}

fn impossible(column: usize, why: &'static str) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: column.to_string(),
        source: why.into(),
    }
}
