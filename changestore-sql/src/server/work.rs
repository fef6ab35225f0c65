//! The operations as what a lane does with a connection.

use std::future::Future;

use changestore_core::{Timestamp, limits};

use super::engine::{Conn, Engine, Put, Setback};
use super::job::{ClaimsOf, GarbageFrom, PageOf, RecordAt};
use crate::flow::garbage::Step;
use crate::flow::judge::Effect;
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::Write;

/// One attempt of an operation.
pub(super) trait Work<E: Engine>: Sync {
    type Output;

    /// Whether a second attempt after an unknown end of the first could do harm.
    const WRITES: bool;

    fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Self::Output, Setback>> + Send;
}

impl<E: Engine> Work<E> for Write {
    type Output = Effect;
    const WRITES: bool = true;

    async fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        now: Timestamp,
    ) -> Result<Effect, Setback> {
        engine.write(connection, self, now).await
    }
}

/// Writes of one kind that become one statement. Those of which it cannot tell what became are told none.
pub(super) struct Together<'a>(pub(super) &'a [Write]);

impl<E: Engine> Work<E> for Together<'_> {
    type Output = Vec<Option<Effect>>;
    const WRITES: bool = true;

    async fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        now: Timestamp,
    ) -> Result<Vec<Option<Effect>>, Setback> {
        let mut creates = Vec::new();
        let mut puts = Vec::new();
        for write in self.0 {
            match write {
                Write::Create(claim) => creates.push(claim),
                Write::Put { record, etag, .. } => puts.push(Put { record, etag }),
                _ => {}
            }
        }
        if puts.is_empty() {
            let effects = engine.create_all(connection, &creates).await?;
            Ok(effects.into_iter().map(Some).collect())
        } else {
            Ok(engine.put_all(connection, &puts, now).await?)
        }
    }
}

impl<E: Engine> Work<E> for ClaimsOf {
    type Output = Vec<ClaimRow>;
    const WRITES: bool = false;

    async fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        _now: Timestamp,
    ) -> Result<Vec<ClaimRow>, Setback> {
        Ok(engine.claims(connection, &self.queue, &self.uri).await?)
    }
}

impl<E: Engine> Work<E> for RecordAt {
    type Output = Option<RecordRow>;
    const WRITES: bool = false;

    async fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        now: Timestamp,
    ) -> Result<Option<RecordRow>, Setback> {
        Ok(engine.record(connection, &self.0, now).await?)
    }
}

impl<E: Engine> Work<E> for PageOf {
    type Output = Vec<(String, RecordRow)>;
    const WRITES: bool = false;

    async fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        now: Timestamp,
    ) -> Result<Vec<(String, RecordRow)>, Setback> {
        Ok(engine.page(connection, &self.plan, self.limit, now).await?)
    }
}

/// Deletes only what is absent to everyone, so that it may as well be done twice.
impl<E: Engine> Work<E> for GarbageFrom {
    type Output = Step;
    const WRITES: bool = false;

    async fn attempt(
        &self,
        engine: &E,
        connection: &mut Conn<E>,
        now: Timestamp,
    ) -> Result<Step, Setback> {
        let long_ago = now.saturating_sub(limits::GARBAGE_GRACE);
        Ok(engine.collect(connection, &self.0, long_ago).await?)
    }
}
