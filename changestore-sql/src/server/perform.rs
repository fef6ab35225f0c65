//! One operation on a lane, from the first attempt to the last.

use std::io;

use tokio::time::{Instant, timeout_at};

use super::engine::{Engine, Fate, Setback};
use super::failure::Failure;
use super::lane::Lane;
use super::lanes::Shared;
use super::line::Line;
use super::work::Work;
use crate::flow::backoff::Backoff;
use crate::flow::classify::Cause;
use crate::flow::reply::Reply;

/// Those who wait for one piece of work.
pub(super) trait Callers {
    /// Says whether the work may have been done from now on.
    fn set_begun(&mut self, is_begun: bool);

    /// Whether nobody waits any more.
    fn are_gone(&self) -> bool;
}

impl<T> Callers for Reply<T> {
    fn set_begun(&mut self, is_begun: bool) {
        Self::set_begun(self, is_begun);
    }

    fn are_gone(&self) -> bool {
        self.is_unwanted()
    }
}

impl<T> Callers for Vec<Reply<T>> {
    fn set_begun(&mut self, is_begun: bool) {
        for reply in self {
            reply.set_begun(is_begun);
        }
    }

    fn are_gone(&self) -> bool {
        self.iter().all(Reply::is_unwanted)
    }
}

/// Nobody waits for what the store does for itself.
impl Callers for () {
    fn set_begun(&mut self, _is_begun: bool) {}

    fn are_gone(&self) -> bool {
        false
    }
}

impl<E: Engine> Lane<E> {
    /// Does the work: again after a conflict with others, and a read once more after a lost connection.
    /// Returns none if all callers went away before it was begun.
    pub(super) async fn perform<W: Work<E>>(
        &mut self,
        work: &W,
        since: Instant,
        callers: &mut impl Callers,
    ) -> Option<Result<W::Output, Failure>> {
        let deadline = since + self.shared.settings.operation_timeout;
        let mut backoff = Backoff::default();
        let mut is_second_read = false;
        loop {
            if callers.are_gone() {
                return None;
            }
            if Instant::now() >= deadline {
                return Some(Err(self.timed_out(false)));
            }
            if let Err(failure) = self.connect(since, deadline).await {
                return Some(Err(failure));
            }
            callers.set_begun(W::WRITES);
            let setback = match self.attempt(work, deadline).await {
                Ok(output) => return Some(Ok(output)),
                Err(failure) => failure,
            };
            let (error, may_have_written) = match setback {
                Some(Setback::Passed) => {
                    callers.set_begun(false);
                    continue;
                }
                Some(Setback::Failed(error)) => (error, W::WRITES),
                Some(Setback::FailedToLook(error)) => (error, false),
                None => return Some(Err(self.timed_out(true))),
            };
            match self.settle(&error) {
                Fate::Conflict if Instant::now() < deadline => {
                    callers.set_begun(false);
                    backoff.wait().await;
                }
                Fate::Conflict => return Some(Err(Failure::Conflict(cause::<E>(error)))),
                Fate::Stale if Instant::now() < deadline => callers.set_begun(false),
                Fate::Lost if may_have_written => {
                    return Some(Err(Failure::Lost(cause::<E>(error))));
                }
                Fate::Lost if !is_second_read => {
                    callers.set_begun(false);
                    is_second_read = true;
                }
                Fate::Lost | Fate::Refused | Fate::Unfit | Fate::Stale => {
                    return Some(Err(Failure::Refused(cause::<E>(error))));
                }
            }
        }
    }

    /// One attempt on the connection; no setback if the time was over, and with it the connection.
    async fn attempt<W: Work<E>>(
        &mut self,
        work: &W,
        deadline: Instant,
    ) -> Result<W::Output, Option<Setback>> {
        let line = self.line.as_mut().expect("connected just before");
        // Until the answer is there: the caller may go away in the middle.
        line.doubt();
        let now = self.shared.settings.clock.now();
        let (connection, alarm) = line.connection_and_alarm();
        let attempt = work.attempt(&self.shared.engine, connection, now);
        if let Some(result) = alarm.limit(deadline, attempt).await {
            line.touch();
            result.map_err(Some)
        } else {
            // It is in the middle of a statement.
            self.discard();
            Err(None)
        }
    }

    /// Lets go of a connection that is of no more use.
    fn settle(&mut self, error: &sqlx::Error) -> Fate {
        let fate = self.shared.engine.fate(error);
        if matches!(fate, Fate::Lost | Fate::Unfit | Fate::Stale) {
            self.discard();
        }
        fate
    }

    /// Drops a connection that is of no more use. Others may have broken with it.
    fn discard(&mut self) {
        if let Some(line) = self.line.take() {
            line.discard();
        }
        self.shared.doubt_idle();
    }

    /// Drops a connection in the middle of what a caller has left.
    pub(super) fn discard_torn(&mut self) {
        if let Some(line) = self.line.take_if(|line| line.is_doubtful()) {
            line.discard();
        }
    }

    /// Has a connection that can be trusted, or makes one; for as long as the operation has time, and the
    /// server is given time to be there.
    async fn connect(&mut self, since: Instant, deadline: Instant) -> Result<(), Failure> {
        self.check(deadline).await;
        if self.line.is_none() {
            // In a box, as other rare things here: each future is moved about in its caller's, whether it is
            // polled or not, and this one is larger than all the rest.
            let opened = Box::pin(self.shared.open_in_time(since, deadline));
            self.line = Some(opened.await?);
        }
        Ok(())
    }

    /// Asks a connection that may be broken, or in the middle of what a caller has left, whether it is fit.
    pub(super) async fn check(&mut self, deadline: Instant) {
        if let Some(line) = &mut self.line
            && !line.is_alive(deadline).await
        {
            self.discard();
        }
    }

    fn timed_out(&self, was_sent: bool) -> Failure {
        Failure::TimedOut {
            after: self.shared.settings.operation_timeout,
            was_sent,
        }
    }
}

impl<E: Engine> Shared<E> {
    /// A new connection, from a server that is given some time to be there.
    pub(super) async fn open_in_time(
        &self,
        since: Instant,
        deadline: Instant,
    ) -> Result<Line<E::Database>, Failure> {
        let patience = self.settings.connect_timeout;
        let give_up = deadline.min(since + patience);
        // Who waited in the queue for the whole time has one attempt all the same.
        let mut limit = deadline.min(Instant::now() + patience);
        let mut backoff = Backoff::between_connects();
        // What the server said last says more than that the time was over.
        let mut last = None;
        loop {
            let error = match timeout_at(limit, self.open()).await {
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(error)) => error,
                Err(_elapsed) => {
                    let timed_out = || cause::<E>(io::Error::from(io::ErrorKind::TimedOut).into());
                    return Err(Failure::Unreachable(last.unwrap_or_else(timed_out)));
                }
            };
            let cause = cause::<E>(error);
            // The server has no connection more for this store, which has others: one of them will be free.
            let has_others = cause.is_throttled() && self.has_others();
            if has_others && let Some(line) = self.take_idle() {
                return Ok(line);
            }
            let is_time = Instant::now() >= if has_others { deadline } else { give_up };
            if !cause.is_retryable() || is_time {
                return Err(Failure::Unreachable(cause));
            }
            if has_others {
                limit = deadline;
            }
            last = Some(cause);
            backoff.wait().await;
        }
    }
}

fn cause<E: Engine>(error: sqlx::Error) -> Cause {
    Cause::new(error, E::DIALECT)
}
