//! What a server engine brings: its statements, and what its errors mean for the connection.

use std::fmt;
use std::future::Future;

use changestore_core::{ChangeRecord, Etag, Key, NewRecord, QueryPlan, Timestamp};
use sqlx::Database;

use crate::flow::classify::Dialect;
use crate::flow::garbage::{Position, Step};
use crate::flow::judge::Effect;
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::Write;

/// A connection of an engine's.
pub(crate) type Conn<E> = <<E as Engine>::Database as Database>::Connection;

/// An engine's statements. Each method is one round trip where the protocol allows it, in autocommit mode; no
/// method retries anything.
pub(crate) trait Engine: fmt::Debug + Send + Sync + Sized + 'static {
    type Database: Database;

    /// Its name, and what its error codes mean to the caller.
    const DIALECT: &'static Dialect;

    /// At most so many waiting creates become one statement; 1 for none.
    const MOST_CREATES: usize;

    /// Whether [`prepare`](Self::prepare) leaves a connection other than it was, so that one of the user's pool
    /// is closed and not given back.
    const ALTERS_SESSIONS: bool = false;

    /// Whether the driver knows, on a connection whose last call was dropped in the middle, which of the packets that still come
    /// belong to that call. Otherwise such a connection is closed: it would give one statement's answer to another.
    const SURVIVES_DROPS: bool;

    /// At most so many waiting puts without a condition become one statement; 1 for none.
    const MOST_PUTS: usize = 1;

    /// Makes a connection what the statements need: one of its own (`is_own`), or one that is borrowed
    /// from the user's pool and goes back there.
    fn prepare(
        &self,
        connection: &mut Conn<Self>,
        is_own: bool,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// One attempt of one write.
    fn write(
        &self,
        connection: &mut Conn<Self>,
        write: &Write,
        now: Timestamp,
    ) -> impl Future<Output = Result<Effect, Setback>> + Send;

    /// One attempt of several creates as one statement, all or none; an effect for each, in their order. Two may
    /// be of one key.
    fn create_all(
        &self,
        connection: &mut Conn<Self>,
        claims: &[&ChangeRecord],
    ) -> impl Future<Output = Result<Vec<Effect>, sqlx::Error>> + Send;

    /// One attempt of several puts without a condition as one statement, all or none. No two are of one key. An
    /// effect for each, in their order; none for one that did nothing, which is then asked alone.
    fn put_all(
        &self,
        _connection: &mut Conn<Self>,
        puts: &[Put<'_>],
        _now: Timestamp,
    ) -> impl Future<Output = Result<Vec<Option<Effect>>, sqlx::Error>> + Send {
        let alone = vec![None; puts.len()];
        async { Ok(alone) }
    }

    /// The claims of a URI, in the order of the request ids.
    fn claims(
        &self,
        connection: &mut Conn<Self>,
        queue: &str,
        uri: &str,
    ) -> impl Future<Output = Result<Vec<ClaimRow>, sqlx::Error>> + Send;

    /// The live record at a key; not a counter.
    fn record(
        &self,
        connection: &mut Conn<Self>,
        key: &Key,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<RecordRow>, sqlx::Error>> + Send;

    /// At most `limit` records of the plan's range, in its order, each with its sort key.
    fn page(
        &self,
        connection: &mut Conn<Self>,
        plan: &QueryPlan,
        limit: usize,
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<(String, RecordRow)>, sqlx::Error>> + Send;

    /// Deletes what expired at or before a time in the next
    /// [`ROWS_PER_STEP`](crate::flow::garbage::ROWS_PER_STEP) rows of the documents.
    fn collect(
        &self,
        connection: &mut Conn<Self>,
        from: &Position,
        long_ago: Timestamp,
    ) -> impl Future<Output = Result<Step, sqlx::Error>> + Send;

    /// What became of a statement that failed, and of its connection.
    fn fate(&self, error: &sqlx::Error) -> Fate;
}

/// A put without a condition.
#[cfg_attr(
    not(feature = "postgres"),
    allow(dead_code, reason = "only PostgreSQL puts several together")
)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put<'a> {
    pub(crate) record: &'a NewRecord,
    pub(crate) etag: &'a Etag,
}

/// What a failure leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The statement was rolled back because of what others did at the same moment. Trying again helps.
    Conflict,
    /// The statement was refused. The connection is as good as before.
    Refused,
    /// The statement was refused, and another connection is the better bet: this one leads to a server
    /// that has become a replica, or that is shutting down.
    Unfit,
    /// The connection had ended before the statement came. On another one it can be tried again.
    Stale,
    /// The connection is of no use any more, and nobody knows what became of the statement.
    Lost,
}

/// Why one attempt of a write has no effect to tell.
#[derive(Debug)]
pub(crate) enum Setback {
    /// It changed nothing, for a reason that is past: by what stands there now it may succeed.
    Passed,
    /// The statement failed.
    Failed(sqlx::Error),
    /// The write was known to have changed nothing, and the look at why failed.
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "PostgreSQL looks in the same statement")
    )]
    FailedToLook(sqlx::Error),
}

impl From<sqlx::Error> for Setback {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}
