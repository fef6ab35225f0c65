//! What a caller wants of a lane, and the answer that is owed to it.

use changestore_core::{Error, Key, QueryPlan, Result};
use tokio::time::Instant;

use crate::flow::garbage::{Position, Step};
use crate::flow::reply::Reply;
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::{Write, Written};

/// A question, and the answer that is owed.
#[derive(Debug)]
pub(super) struct Pending<A, T> {
    pub(super) ask: A,
    pub(super) since: Instant,
    pub(super) reply: Reply<T>,
}

impl<A, T> Pending<A, T> {
    pub(super) fn new(ask: A, reply: Reply<T>) -> Self {
        Self {
            ask,
            since: Instant::now(),
            reply,
        }
    }
}

/// The claims of which URI.
#[derive(Debug)]
pub(super) struct ClaimsOf {
    pub(super) queue: String,
    pub(super) uri: String,
}

/// The record at which key.
#[derive(Debug)]
pub(super) struct RecordAt(pub(super) Key);

/// Which page of a query.
#[derive(Debug)]
pub(super) struct PageOf {
    pub(super) plan: QueryPlan,
    pub(super) limit: usize,
}

/// Which stretch of the documents to rid of its garbage.
#[derive(Debug)]
pub(super) struct GarbageFrom(pub(super) Position);

/// One operation on its way to a lane.
#[derive(Debug)]
pub(super) enum Job {
    Write(Pending<Write, Written>),
    Claims(Pending<ClaimsOf, Vec<ClaimRow>>),
    Record(Pending<RecordAt, Option<RecordRow>>),
    Page(Pending<PageOf, Vec<(String, RecordRow)>>),
    Collect(Pending<GarbageFrom, Step>),
}

impl Job {
    /// Since when it waits.
    pub(super) fn since(&self) -> Instant {
        match self {
            Self::Write(pending) => pending.since,
            Self::Claims(pending) => pending.since,
            Self::Record(pending) => pending.since,
            Self::Page(pending) => pending.since,
            Self::Collect(pending) => pending.since,
        }
    }

    /// Whether its caller has gone away.
    pub(super) fn is_unwanted(&self) -> bool {
        match self {
            Self::Write(pending) => pending.reply.is_unwanted(),
            Self::Claims(pending) => pending.reply.is_unwanted(),
            Self::Record(pending) => pending.reply.is_unwanted(),
            Self::Page(pending) => pending.reply.is_unwanted(),
            Self::Collect(pending) => pending.reply.is_unwanted(),
        }
    }

    /// Answers it with an error, before it was begun.
    pub(super) fn refuse(self, error: Error) {
        fn answer<A, T>(pending: Pending<A, T>, error: Error) {
            let answer: Result<T> = Err(error);
            pending.reply.send(answer);
        }
        match self {
            Self::Write(pending) => answer(pending, error),
            Self::Claims(pending) => answer(pending, error),
            Self::Record(pending) => answer(pending, error),
            Self::Page(pending) => answer(pending, error),
            Self::Collect(pending) => answer(pending, error),
        }
    }
}
