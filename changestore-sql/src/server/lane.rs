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
use super::work::{Together, Work};
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

    /// Does the first job for its caller, in the caller's own task: that spares two hops between tasks. A caller
    /// that goes away in the middle leaves the lane to a task of its own.
    pub(super) async fn run_for_caller(self, first: Job) {
        let shared = Arc::clone(&self.shared);
        let mut visited = Visited(Some(self));
        if let Some(lane) = &mut visited.0 {
            lane.work_off(first, Others::Wait).await;
            // If others wait, or there is garbage, that is no business of the caller's.
            shared.end_if_idle(lane);
        }
    }

    /// Does the first job in a task of its own, and then what waits.
    pub(super) async fn run(mut self, first: Job) {
        self.work_off(first, Others::Join).await;
        self.run_on().await;
    }

    async fn run_on(mut self) {
        let shared = Arc::clone(&self.shared);
        self.collect_if_due().await;
        while let Some(job) = shared.next_job(&mut self) {
            self.work_off(job, Others::Join).await;
            self.collect_if_due().await;
        }
        if let Some(line) = self.line.take() {
            // The store was closed meanwhile.
            line.close().await;
        }
    }

    async fn work_off(&mut self, job: Job, others: Others) {
        match job {
            Job::Write(pending) => {
                if others == Others::Join && pending.ask.kin().is_some() {
                    Box::pin(self.write_together(pending)).await;
                } else {
                    self.write(pending).await;
                }
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

    /// A write, and with it those of its kind that wait, as one statement. If the server refuses that, each is
    /// done alone, so that none fails for another's sake.
    async fn write_together(&mut self, first: Pending<Write, Written>) {
        let batch = self.shared.with_waiting(first);
        let since = batch.iter().map(|pending| pending.since).min();
        let since = since.unwrap_or_else(Instant::now);
        let (writes, mut replies): (Vec<Write>, Vec<_>) = batch
            .into_iter()
            .map(|pending| (pending.ask, pending.reply))
            .unzip();
        let result = if writes.len() > 1 {
            self.perform(&Together(&writes), since, &mut replies).await
        } else {
            Some(Ok(vec![None]))
        };
        let effects = match result {
            Some(Ok(effects)) => effects,
            Some(Err(Failure::Refused(_))) => vec![None; writes.len()],
            Some(Err(failure)) => {
                for reply in replies {
                    reply.send(Err(failure.of_a_write()));
                }
                return;
            }
            None => return,
        };
        let mut alone = Vec::new();
        let were_many = writes.len() > 1;
        for ((ask, mut reply), effect) in writes.into_iter().zip(replies).zip(effects) {
            if let Some(effect) = effect {
                self.shared.garbage().count(&ask);
                reply.send(judge(ask, effect));
            } else {
                reply.set_begun(false);
                alone.push(Pending { ask, since, reply });
            }
        }
        for pending in alone {
            self.write(pending).await;
        }
        if were_many {
            // Those who were just answered often write again at once; they make one batch if they get
            // to run before the next job is taken.
            yield_now().await;
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

/// Whether other writes may become part of the same statement. They must not hang on a caller that may
/// go away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Join,
    Wait,
}

/// A lane in its caller's task. Dropped with the lane still in it, it gives the lane a task of its own.
struct Visited<E: Engine>(Option<Lane<E>>);

impl<E: Engine> Drop for Visited<E> {
    fn drop(&mut self) {
        if let Some(mut lane) = self.0.take_if(|lane| lane.is_counted) {
            let shared = Arc::clone(&lane.shared);
            shared.spawn(async move {
                let deadline = Instant::now() + lane.shared.settings.operation_timeout;
                if E::SURVIVES_DROPS {
                    lane.check(deadline).await;
                } else {
                    lane.discard_torn();
                }
                lane.run_on().await;
            });
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
