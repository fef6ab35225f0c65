//! A store on a server: both contracts by way of its lanes.

use std::fmt;
use std::sync::Arc;

use changestore_core::{ChangeRecord, Error, ErrorKind, Key, QueryPlan, Record, Result};
use futures::future::BoxFuture;
use tokio::runtime::Handle;

use super::engine::{Conn, Engine};
use super::job::{ClaimsOf, GarbageFrom, Job, PageOf, RecordAt};
use super::lanes::Shared;
use super::line::Source;
use super::settings::Settings;
use crate::flow::contracts::Backend;
use crate::flow::scan::{Page, Pages};
use crate::flow::write::{Write, Written};

/// What each engine's public store holds.
pub(crate) struct Server<E: Engine>(Arc<Shared<E>>);

impl<E: Engine> Server<E> {
    /// A store without a connection as yet.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) outside of a tokio runtime.
    pub(crate) fn new(engine: E, source: Source<E::Database>, settings: Settings) -> Result<Self> {
        match Handle::try_current() {
            Ok(_) => Ok(Self(Shared::new(engine, source, settings))),
            Err(error) => Err(Error::new(ErrorKind::Configuration)
                .with_message("a store is opened on a tokio runtime, and there is none here")
                .with_source(error)),
        }
    }

    /// Has something done on a connection, such as checking the schema.
    pub(crate) async fn with_connection<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn<E>) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        self.0.with_connection(work).await
    }

    /// Deletes all that is long expired, and says how much that was.
    pub(crate) async fn collect_expired(&self) -> Result<u64> {
        let mut deleted = 0;
        let mut position = None;
        loop {
            let step = self.0.ask(GarbageFrom(position), Job::Collect).await?;
            deleted += step.deleted;
            position = step.next;
            if position.is_none() {
                return Ok(deleted);
            }
        }
    }

    pub(crate) async fn close(&self) {
        self.0.close().await;
    }
}

impl<E: Engine> Backend for Server<E> {
    const NAME: &'static str = E::DIALECT.backend;

    async fn write(&self, write: Write) -> Result<Written> {
        self.0.ask(write, Job::Write).await
    }

    async fn claims(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let ask = ClaimsOf {
            queue: queue.to_owned(),
            uri: uri.to_owned(),
        };
        let rows = self.0.ask(ask, Job::Claims).await?;
        rows.into_iter()
            .map(|row| row.into_record(queue, uri))
            .collect()
    }

    async fn record(&self, key: &Key) -> Result<Option<Record>> {
        let row = self.0.ask(RecordAt(key.clone()), Job::Record).await?;
        row.map(|row| row.into_record(key.clone())).transpose()
    }
}

impl<E: Engine> Pages for Server<E> {
    async fn page(&self, plan: &QueryPlan, limit: usize) -> Result<Page> {
        let ask = PageOf {
            plan: plan.clone(),
            limit,
        };
        let rows = self.0.ask(ask, Job::Page).await?;
        let is_last = rows.len() < limit;
        Ok(Page { rows, is_last })
    }
}

impl<E: Engine> fmt::Debug for Server<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
