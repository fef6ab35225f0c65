//! The lanes of a store: who waits, which connections are idle, how many are at work.
//!
//! A job that finds a lane free starts it at once, on the connection that was used last. The others wait in
//! the order in which they came. A lane that ends finds no job waiting, so none is forgotten.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use changestore_core::{Key, Result};
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::engine::{Conn, Engine};
use super::job::{Job, Pending};
use super::lane::Lane;
use super::line::{Line, Source};
use super::settings::Settings;
use crate::flow::garbage::Pace;
use crate::flow::reply::{Reply, abandoned, closed};
use crate::flow::write::{Kin, Write, Written};

/// At most about so many bytes are written together (one write more may come on top).
const BATCH_BYTES: usize = 1 << 20;

/// What the lanes of a store share.
pub(super) struct Shared<E: Engine> {
    pub(super) engine: E,
    pub(super) settings: Settings,
    source: Source<E::Database>,
    /// Connections belong to the runtime that they were opened on.
    runtime: Handle,
    state: Mutex<State<E>>,
    garbage: Mutex<Pace>,
    /// Told when the last lane of a closed store ends.
    ended: Notify,
}

struct State<E: Engine> {
    /// Writes that can become one statement wait by themselves, so that a lane can take many of them.
    creates: VecDeque<Pending<Write, Written>>,
    puts: VecDeque<Pending<Write, Written>>,
    others: VecDeque<Job>,
    /// The last one was used last.
    idle: Vec<Line<E::Database>>,
    /// How many lanes are at work.
    running: usize,
    is_closed: bool,
    /// Whether a task looks after the idle connections.
    is_swept: bool,
}

impl<E: Engine> State<E> {
    fn enqueue(&mut self, job: Job) {
        match job {
            Job::Write(pending) => match pending.ask.kin() {
                Some(kin) => self.queue(kin).push_back(pending),
                None => self.others.push_back(Job::Write(pending)),
            },
            other => self.others.push_back(other),
        }
    }

    fn queue(&mut self, kin: Kin) -> &mut VecDeque<Pending<Write, Written>> {
        match kin {
            Kin::Creates => &mut self.creates,
            Kin::Puts => &mut self.puts,
        }
    }

    /// Whoever waits longest.
    fn dequeue(&mut self) -> Option<Job> {
        let create = self.creates.front().map(|pending| pending.since);
        let put = self.puts.front().map(|pending| pending.since);
        let other = self.others.front().map(Job::since);
        let longest = [create, put, other].into_iter().flatten().min()?;
        if create == Some(longest) {
            self.creates.pop_front().map(Job::Write)
        } else if put == Some(longest) {
            self.puts.pop_front().map(Job::Write)
        } else {
            self.others.pop_front()
        }
    }

    fn waiting(&self) -> usize {
        self.creates.len() + self.puts.len() + self.others.len()
    }

    fn take_waiting(&mut self) -> Vec<Job> {
        let writes = self.creates.drain(..).chain(self.puts.drain(..));
        let writes = writes.map(Job::Write);
        writes.chain(self.others.drain(..)).collect()
    }
}

impl<E: Engine> Shared<E> {
    /// On the current runtime.
    pub(super) fn new(engine: E, source: Source<E::Database>, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            engine,
            settings,
            source,
            runtime: Handle::current(),
            state: Mutex::new(State {
                creates: VecDeque::new(),
                puts: VecDeque::new(),
                others: VecDeque::new(),
                idle: Vec::new(),
                running: 0,
                is_closed: false,
                is_swept: false,
            }),
            garbage: Mutex::default(),
            ended: Notify::new(),
        })
    }

    /// Asks a lane and waits for the answer.
    pub(super) async fn ask<A, T>(
        self: &Arc<Self>,
        ask: A,
        job: impl FnOnce(Pending<A, T>) -> Job,
    ) -> Result<T> {
        let (reply, answer) = Reply::new();
        if let Some((lane, job)) = self.enter(job(Pending::new(ask, reply))) {
            // Outside of a tokio runtime there is no clock for the timeouts.
            if Handle::try_current().is_ok() {
                lane.run_for_caller(job).await;
            } else {
                self.spawn(lane.run(job));
            }
        }
        answer.await.unwrap_or_else(|_| Err(abandoned()))
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// A lane for the job, or else the job waits.
    fn enter(self: &Arc<Self>, job: Job) -> Option<(Lane<E>, Job)> {
        let mut state = self.state();
        if state.is_closed {
            drop(state);
            job.refuse(closed());
            None
        } else if state.running < self.settings.connections.max(1) {
            state.running += 1;
            let line = state.idle.pop();
            drop(state);
            Some((Lane::new(Arc::clone(self), line), job))
        } else {
            state.enqueue(job);
            None
        }
    }

    /// The next job for a lane; without one the lane ends here, and its connection is idle.
    pub(super) fn next_job(self: &Arc<Self>, lane: &mut Lane<E>) -> Option<Job> {
        let mut state = self.state();
        while let Some(job) = state.dequeue() {
            // Who went away before the work began need not have it.
            if !job.is_unwanted() {
                return Some(job);
            }
        }
        self.end(&mut state, lane);
        None
    }

    /// Ends a lane for which there is nothing to do.
    pub(super) fn end_if_idle(self: &Arc<Self>, lane: &mut Lane<E>) {
        if self.garbage().is_due() {
            return;
        }
        let mut state = self.state();
        if state.waiting() == 0 && !state.is_closed {
            self.end(&mut state, lane);
        }
    }

    fn end(self: &Arc<Self>, state: &mut State<E>, lane: &mut Lane<E>) {
        if let Some(line) = lane.line.take_if(|_| !state.is_closed) {
            self.keep(state, line);
        }
        lane.is_counted = false;
        state.running -= 1;
    }

    /// Keeps a connection on which nothing is under way.
    fn keep(self: &Arc<Self>, state: &mut State<E>, line: Line<E::Database>) {
        state.idle.push(line);
        if !state.is_swept {
            state.is_swept = true;
            self.spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Has a task of its own do something with a new connection, which is then kept. The task ends what it began
    /// when its caller goes away.
    pub(super) async fn with_connection<T, F>(self: &Arc<Self>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn<E>) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        let shared = Arc::clone(self);
        let task = self.runtime.spawn(async move {
            let now = Instant::now();
            let deadline = now + shared.settings.operation_timeout;
            let opened = shared.open_in_time(now, deadline).await;
            let mut line = opened.map_err(|failure| failure.of_a_read())?;
            let done = work(line.connection()).await;
            if done.is_ok() {
                line.touch();
                shared.keep(&mut shared.state(), line);
            } else {
                line.discard();
            }
            done
        });
        task.await.unwrap_or_else(|_| Err(abandoned()))
    }

    /// A write, and those of its kind that wait, as far as one statement takes them.
    pub(super) fn with_waiting(
        &self,
        first: Pending<Write, Written>,
    ) -> Vec<Pending<Write, Written>> {
        let Some(kin) = first.ask.kin() else {
            return vec![first];
        };
        let most = match kin {
            Kin::Creates => E::MOST_CREATES,
            Kin::Puts => E::MOST_PUTS,
        };
        let mut bytes = first.ask.size();
        let mut keys: HashSet<Key> = first.ask.document().cloned().into_iter().collect();
        let mut batch = vec![first];
        let mut state = self.state();
        let queue = state.queue(kin);
        while batch.len() < most && bytes < BATCH_BYTES {
            // Two puts of one key are two statements, one after the other.
            let is_another = |next: &mut Pending<Write, Written>| {
                next.ask.document().is_none_or(|key| !keys.contains(key))
            };
            let Some(next) = queue.pop_front_if(is_another) else {
                break;
            };
            if !next.reply.is_unwanted() {
                bytes += next.ask.size();
                keys.extend(next.ask.document().cloned());
                batch.push(next);
            }
        }
        batch
    }

    /// A new connection.
    pub(super) async fn open(&self) -> Result<Line<E::Database>, sqlx::Error> {
        let mut line = self.source.connect().await?;
        if E::ALTERS_SESSIONS {
            line.alter();
        }
        let prepared = self
            .engine
            .prepare(line.connection(), self.source.is_own())
            .await;
        match prepared {
            Ok(()) => Ok(line),
            Err(error) => {
                line.discard();
                Err(error)
            }
        }
    }

    /// Whether there are connections beside the one that a lane is about to open.
    pub(super) fn has_others(&self) -> bool {
        let state = self.state();
        state.running > 1 || !state.idle.is_empty()
    }

    pub(super) fn take_idle(&self) -> Option<Line<E::Database>> {
        self.state().idle.pop()
    }

    /// A connection was found broken: the idle ones may be, too.
    pub(super) fn doubt_idle(&self) {
        for line in &mut self.state().idle {
            line.doubt();
        }
    }

    pub(super) fn garbage(&self) -> MutexGuard<'_, Pace> {
        self.garbage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lane is no more. One that ended in its runtime's end, or in a panic, leaves to others what waits; if
    /// it was the last one, those who wait are told.
    pub(super) fn end_lane(&self, is_counted: bool) {
        let mut state = self.state();
        let mut forsaken = Vec::new();
        if is_counted {
            state.running -= 1;
            if state.running == 0 {
                forsaken = state.take_waiting();
            }
        }
        if state.is_closed && state.running == 0 {
            self.ended.notify_waiters();
        }
        drop(state);
        // Their replies say so themselves.
        drop(forsaken);
    }

    /// Refuses what waits and what comes, waits for what was begun, and closes all connections.
    pub(super) async fn close(&self) {
        let waiting = {
            let mut state = self.state();
            state.is_closed = true;
            state.take_waiting()
        };
        for job in waiting {
            job.refuse(closed());
        }
        loop {
            let ended = self.ended.notified();
            if self.state().running == 0 {
                break;
            }
            ended.await;
        }
        let idle = std::mem::take(&mut self.state().idle);
        for line in idle {
            line.close().await;
        }
    }

    /// The connections that were idle for too long.
    fn take_stale(&self) -> Option<Vec<Line<E::Database>>> {
        let mut state = self.state();
        let limit = self.source.idle();
        let too_old = state
            .idle
            .extract_if(.., |line| line.is_idle_for(limit))
            .collect::<Vec<_>>();
        if state.idle.is_empty() && too_old.is_empty() {
            state.is_swept = false;
            return None;
        }
        Some(too_old)
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes idle connections until there are none.
async fn sweep<E: Engine>(shared: Weak<Shared<E>>) {
    loop {
        let Some(pause) = shared.upgrade().map(|shared| shared.source.idle() / 2) else {
            return;
        };
        tokio::time::sleep(pause).await;
        let Some(stale) = shared.upgrade().and_then(|shared| shared.take_stale()) else {
            return;
        };
        for line in stale {
            line.close().await;
        }
    }
}

impl<E: Engine> fmt::Debug for Shared<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Lanes")
            .field("engine", &self.engine)
            .field("running", &state.running)
            .field("idle", &state.idle.len())
            .field("waiting", &state.waiting())
            .finish_non_exhaustive()
    }
}
