//! A lane: a task with a connection, which does one job after the other as long as any wait.

use std::sync::Arc;

use changestore_core::Error;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::engine::Engine;
use super::failure::Failure;
use super::job::{GarbageFrom, Job, Pending};
use super::lanes::Shared;
use super::line::Line;
use super::work::{CreateAll, Work};
use crate::flow::judge::{Effect, judge};
use crate::flow::write::{Write, Written};

/// A lane at work. It counts as one until it is dropped.
pub(super) struct Lane<E: Engine> {
    pub(super) shared: Arc<Shared<E>>,
    /// None before the first attempt, and after the connection was lost.
    pub(super) line: Option<Line<E::Database>>,
    /// Until it has ended.
    pub(super) is_counted: bool,
}

impl<E: Engine> Lane<E> {
    pub(super) fn new(shared: Arc<Shared<E>>, line: Option<Line<E::Database>>) -> Self {
        Self {
            shared,
            line,
            is_counted: true,
        }
    }

    pub(super) async fn run(mut self, first: Job) {
        let shared = Arc::clone(&self.shared);
        let mut next = Some(first);
        while let Some(job) = next {
            self.work_off(job).await;
            next = shared.next_job(&mut self);
        }
        if let Some(line) = self.line.take() {
            // The store was closed meanwhile.
            line.close().await;
        }
    }

    async fn work_off(&mut self, job: Job) {
        match job {
            Job::Write(pending) => {
                let is_create = matches!(pending.ask, Write::Create(_));
                if is_create && E::MOST_CREATES > 1 {
                    self.create(pending).await;
                } else {
                    self.write(pending).await;
                }
                self.collect_if_due().await;
            }
            Job::Claims(pending) => self.read(pending).await,
            Job::Record(pending) => self.read(pending).await,
            Job::Page(pending) => self.read(pending).await,
            Job::Collect(pending) => self.read(pending).await,
        }
    }

    async fn read<A: Work<E>>(&mut self, pending: Pending<A, A::Output>) {
        let Pending {
            ask,
            since,
            mut reply,
        } = pending;
        if let Some(result) = self.perform(&ask, since, &mut reply).await {
            reply.send(result.map_err(|failure| failure.of_a_read()));
        }
    }

    async fn write(&mut self, pending: Pending<Write, Written>) {
        let Pending {
            ask: write,
            since,
            mut reply,
        } = pending;
        self.shared.garbage().count(&write);
        if let Some(result) = self.perform(&write, since, &mut reply).await {
            reply.send(answer(write, result));
        }
    }

    /// A create, and with it those that wait, as one statement. If the server refuses that, each is done
    /// alone, so that none fails for another's sake.
    async fn create(&mut self, first: Pending<Write, Written>) {
        let batch = self.shared.with_waiting_creates(first, E::MOST_CREATES);
        if let [_] = batch.as_slice() {
            for alone in batch {
                self.write(alone).await;
            }
            return;
        }
        let since = batch.iter().map(|create| create.since).min();
        let since = since.unwrap_or_else(Instant::now);
        let mut claims = Vec::with_capacity(batch.len());
        let mut replies = Vec::with_capacity(batch.len());
        for create in batch {
            if let Write::Create(claim) = create.ask {
                claims.push(claim);
                replies.push(create.reply);
            }
        }
        let result = self.perform(&CreateAll(&claims), since, &mut replies).await;
        let creates = claims.into_iter().map(Write::Create).zip(replies);
        match result {
            Some(Ok(effects)) => {
                for ((write, reply), effect) in creates.zip(effects) {
                    reply.send(judge(write, effect));
                }
                // Those who were just answered often create again at once; they make one batch if
                // they get to run before the next job is taken.
                yield_now().await;
            }
            Some(Err(Failure::Refused(_))) => {
                for (ask, mut reply) in creates {
                    reply.set_begun(false);
                    self.write(Pending { ask, since, reply }).await;
                }
            }
            Some(Err(failure)) => {
                for (_, reply) in creates {
                    reply.send(Err(failure.of_a_write()));
                }
            }
            None => {}
        }
    }

    /// Deletes some garbage if it is time to. Nobody waits for it and nothing depends on it: a failure only
    /// leaves the stretch to the next time.
    async fn collect_if_due(&mut self) {
        let due = self.shared.garbage().due();
        if let Some(from) = due {
            let work = GarbageFrom(from);
            if let Some(Ok(step)) = self.perform(&work, Instant::now(), &mut ()).await {
                self.shared.garbage().advance(step.next);
            }
        }
    }
}

impl<E: Engine> Drop for Lane<E> {
    fn drop(&mut self) {
        self.shared.end_lane(self.is_counted);
    }
}

fn answer(write: Write, result: Result<Effect, Failure>) -> Result<Written, Error> {
    match result {
        Ok(effect) => judge(write, effect),
        Err(failure) => Err(failure.of_a_write()),
    }
}
