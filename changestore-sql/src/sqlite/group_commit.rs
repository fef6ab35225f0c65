//! Group commit: every write goes through one task, which commits whatever is waiting together.
//!
//! A durable commit costs a sync of the disk, however much is in it. So a task of its own takes all
//! writes that wait, runs them in one transaction, commits once, and then tells each caller its own
//! result: 64 callers pay for one sync. A write that its condition refuses does not disturb the
//! others. One that the engine refuses rolls the transaction back, and each is then run alone.
//!
//! A caller that goes away leaves nothing half done: its write is in the queue or in a transaction that
//! the task ends one way or the other.

use std::future::Future;
use std::time::Duration;

use changestore_core::{Error, Outcome, Result};
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::flow::backoff::Backoff;
use crate::flow::classify::Cause;
use crate::flow::garbage::{self, Position, Step};
use crate::flow::judge::{Effect, judge};
use crate::flow::reply::{Reply, abandoned, closed};
use crate::flow::write::{Write, Written};

/// At most so many writes wait; then their callers do.
const QUEUE: usize = 1024;
/// At most so many writes are committed together.
const BATCH: usize = 256;
/// At most about so many bytes are committed together (one write more may come on top).
const BATCH_BYTES: usize = 4 << 20;

/// The engine's half: how a batch becomes a transaction.
pub(crate) trait Engine: Send + 'static {
    /// Runs all writes in one transaction and commits it; an effect for each, in their order.
    fn run(
        &mut self,
        writes: &[&Write],
    ) -> impl Future<Output = Result<Vec<Effect>, Failure>> + Send;

    /// Deletes what is long expired in the next stretch of the documents, in a transaction.
    fn collect(&mut self, from: &Position) -> impl Future<Output = Result<Step, Failure>> + Send;

    /// Lets go of the connection.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Why a transaction did not come to pass.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// Another writer holds the lock; nothing was changed. Trying again helps.
    Locked(Cause),
    /// It was rolled back.
    Aborted(Cause),
    /// The reply to the commit was lost.
    Unknown(Cause),
}

impl Failure {
    fn to_error(&self) -> Error {
        match self {
            Self::Locked(cause) => cause
                .to_error()
                .with_message("another writer held the lock for longer than the lock timeout"),
            Self::Aborted(cause) => cause.to_error(),
            Self::Unknown(cause) => cause
                .to_error()
                .with_outcome(Outcome::Unknown)
                .with_message("the commit failed"),
        }
    }
}

/// The callers' end.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
    lock_timeout: Duration,
}

#[derive(Debug)]
enum Message {
    Write(Job),
    Collect {
        from: Position,
        deadline: Instant,
        reply: Reply<Step>,
    },
    Close {
        reply: oneshot::Sender<()>,
    },
}

#[derive(Debug)]
struct Job {
    write: Write,
    /// When to give up on the lock.
    deadline: Instant,
    reply: Reply<Written>,
}

impl Job {
    fn answer(self, result: Result<Effect, &Failure>) {
        self.reply.send(match result {
            Ok(effect) => judge(self.write, effect),
            Err(failure) => Err(failure.to_error()),
        });
    }
}

impl Writer {
    /// Starts the task on the current runtime. It ends when every clone is dropped, or is closed.
    pub(crate) fn start<E: Engine>(engine: E, lock_timeout: Duration) -> Self {
        let (sender, queue) = mpsc::channel(QUEUE);
        let task = Task {
            engine,
            queue,
            closing: None,
            postponed: None,
            garbage: garbage::Pace::default(),
        };
        tokio::spawn(task.run());
        Self {
            queue: sender,
            lock_timeout,
        }
    }

    /// Queues a write and waits for its result.
    pub(crate) async fn write(&self, write: Write) -> Result<Written> {
        let deadline = Instant::now() + self.lock_timeout;
        self.ask(|reply| {
            Message::Write(Job {
                write,
                deadline,
                reply,
            })
        })
        .await
    }

    /// Queues one step of garbage collection and waits for its result.
    pub(crate) async fn collect(&self, from: Position) -> Result<Step> {
        let deadline = Instant::now() + self.lock_timeout;
        self.ask(|reply| Message::Collect {
            from,
            deadline,
            reply,
        })
        .await
    }

    /// What comes too late for the queue is dropped, and answers so itself.
    async fn ask<T>(&self, message: impl FnOnce(Reply<T>) -> Message) -> Result<T> {
        let (reply, answer) = Reply::new();
        drop(self.queue.send(message(reply)).await);
        answer.await.unwrap_or_else(|_| Err(abandoned()))
    }

    /// Waits until everything that was queued before is done and the connection is closed.
    pub(crate) async fn close(&self) {
        let (reply, answer) = oneshot::channel();
        if self.queue.send(Message::Close { reply }).await.is_ok() {
            // Without an answer the task is gone, which is as good.
            let _ = answer.await;
        }
    }
}

struct Task<E> {
    engine: E,
    queue: mpsc::Receiver<Message>,
    /// Who waits for the end.
    closing: Option<oneshot::Sender<()>>,
    /// What was taken out of the queue and is no write: it comes after the batch.
    postponed: Option<Message>,
    garbage: garbage::Pace,
}

impl<E: Engine> Task<E> {
    async fn run(mut self) {
        let mut answered = 0;
        while self.closing.is_none() {
            if answered > 1 {
                // Those who were just answered often write again at once; they make one batch if
                // they get to run before the next one is taken.
                yield_now().await;
            }
            answered = 0;
            let next = match self.postponed.take() {
                Some(message) => Some(message),
                None => self.queue.recv().await,
            };
            match next {
                None => break,
                Some(Message::Write(first)) => answered = self.commit(first).await,
                Some(Message::Collect {
                    from,
                    deadline,
                    reply,
                }) => {
                    let step = self.collect(&from, deadline).await;
                    reply.send(step.map_err(|failure| failure.to_error()));
                }
                Some(Message::Close { reply }) => self.closing = Some(reply),
            }
        }
        // Those who come from now on find the queue closed; those in it are told so.
        self.queue.close();
        let mut also_closing = Vec::new();
        while let Some(message) = self.queue.recv().await {
            match message {
                Message::Write(job) => job.reply.send(Err(closed())),
                Message::Collect { reply, .. } => reply.send(Err(closed())),
                Message::Close { reply } => also_closing.push(reply),
            }
        }
        self.engine.close().await;
        for reply in self.closing.into_iter().chain(also_closing) {
            // Who asked for it may have gone away.
            let _ = reply.send(());
        }
    }

    /// Commits a write together with all that are waiting; how many there were.
    async fn commit(&mut self, first: Job) -> usize {
        let mut batch = vec![first];
        self.fill(&mut batch);
        let mut committed = 0;
        match self.attempt(&mut batch, true, &mut committed).await {
            Ok(()) => {}
            Err(Failure::Aborted(_)) if batch.len() > 1 => {
                for job in batch {
                    let mut alone = vec![job];
                    let result = self.attempt(&mut alone, false, &mut committed).await;
                    if let Err(failure) = result {
                        Self::fail(alone, &failure);
                    }
                }
            }
            Err(failure) => Self::fail(batch, &failure),
        }
        if let Some(from) = self.garbage.due() {
            // Nobody waits for it and nothing depends on it: a failure only leaves the stretch to
            // the next time.
            if let Ok(step) = self.engine.collect(&from).await {
                self.garbage.advance(step.next);
            }
        }
        committed
    }

    /// Takes waiting writes into a batch, as far as there is room.
    fn fill(&mut self, batch: &mut Vec<Job>) {
        let mut bytes: usize = batch.iter().map(|job| job.write.size()).sum();
        while batch.len() < BATCH && bytes < BATCH_BYTES && self.postponed.is_none() {
            match self.queue.try_recv() {
                Ok(Message::Write(job)) => {
                    bytes += job.write.size();
                    batch.push(job);
                }
                Ok(other) => self.postponed = Some(other),
                Err(_) => return,
            }
        }
    }

    /// Runs a batch as often as it takes to get the lock, and answers it. Those who come meanwhile
    /// may join. After a failure that trying again does not help, the jobs stay in the batch.
    async fn attempt(
        &mut self,
        batch: &mut Vec<Job>,
        others_join: bool,
        committed: &mut usize,
    ) -> Result<(), Failure> {
        let mut backoff = Backoff::default();
        loop {
            // Who went away before the write began need not have it.
            batch.retain(|job| !job.reply.is_unwanted());
            if batch.is_empty() {
                return Ok(());
            }
            set_begun(batch, true);
            let writes: Vec<&Write> = batch.iter().map(|job| &job.write).collect();
            let result = self.engine.run(&writes).await;
            // An answer says by itself what it means; these are for those who get none.
            set_begun(batch, matches!(result, Err(Failure::Unknown(_))));
            match result {
                Ok(effects) => {
                    *committed += batch.len();
                    for (job, effect) in batch.drain(..).zip(effects) {
                        self.garbage.count(&job.write);
                        job.answer(Ok(effect));
                    }
                    return Ok(());
                }
                Err(failure @ Failure::Locked(_)) => {
                    let now = Instant::now();
                    for job in batch.extract_if(.., |job| job.deadline <= now) {
                        job.answer(Err(&failure));
                    }
                    if !batch.is_empty() {
                        backoff.wait().await;
                    }
                    if others_join {
                        self.fill(batch);
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    fn fail(jobs: Vec<Job>, failure: &Failure) {
        for job in jobs {
            job.answer(Err(failure));
        }
    }

    /// One step of garbage collection for a caller.
    async fn collect(&mut self, from: &Position, deadline: Instant) -> Result<Step, Failure> {
        let mut backoff = Backoff::default();
        loop {
            match self.engine.collect(from).await {
                Err(Failure::Locked(_)) if Instant::now() < deadline => backoff.wait().await,
                result => return result,
            }
        }
    }
}

fn set_begun(batch: &mut [Job], is_begun: bool) {
    for job in batch {
        job.reply.set_begun(is_begun);
    }
}
