//! One call of a store's method: its requests, one after the other, until one of them is answered.

use std::pin::pin;

use changestore_core::{Error, ErrorKind, Outcome, Result};
use tokio::time::Instant;

use crate::failure::{Failure, Fate};
use crate::pause;
use crate::policy::{Retries, after};

/// What a lost reply means for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resend {
    /// It changes nothing.
    Reads,
    /// Sent again it finds out what the first did, or does it: its condition, once it was met, is never met again.
    Recognizes,
    /// Sent again it could do twice what is to be done once. Under most conditions it could: that nothing is there, or a
    /// version, may be true again after others have deleted what the first attempt wrote.
    Never,
}

/// What a request came to.
#[derive(Debug)]
pub enum Sent<T> {
    /// It was answered.
    Answered(T),
    /// It failed, and has been waited for: send it again.
    Again,
}

/// The requests of one call. [`Retries::attempts`] begins it.
#[derive(Debug)]
pub struct Attempts<'a> {
    retries: &'a Retries,
    resend: Resend,
    deadline: Instant,
    failed: u32,
    overtaken: u32,
    /// The first reply that was lost, of a write.
    lost: Option<Error>,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(retries: &'a Retries, resend: Resend) -> Self {
        Self {
            retries,
            resend,
            deadline: after(retries.policy().operation_timeout),
            failed: 0,
            overtaken: 0,
            lost: None,
        }
    }

    /// Sends one request. Where it failed and may be sent again, waits until it is time to.
    ///
    /// # Errors
    /// The request's own, if it may not be sent again, or the time is over. Its outcome is unknown if it is a write's and a
    /// reply was lost, this one or one before.
    pub async fn send<T, E, F>(&mut self, request: impl FnOnce() -> F) -> Result<Sent<T>>
    where
        E: Into<Failure>,
        F: Future<Output = Result<T, E>>,
    {
        let until = self
            .deadline
            .min(after(self.retries.policy().attempt_timeout));
        let failure = {
            // Made where it stays: clients' futures are large.
            let request = pin!(request());
            match self.retries.deadlines.limit(until, request).await {
                Some(Ok(answer)) => return Ok(Sent::Answered(answer)),
                Some(Err(failure)) => failure.into(),
                None => Failure::timed_out(),
            }
        };
        self.failed(failure).await?;
        Ok(Sent::Again)
    }

    /// Sends a request until it is answered.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn answer<T, E, F>(&mut self, mut request: impl FnMut() -> F) -> Result<T>
    where
        E: Into<Failure>,
        F: Future<Output = Result<T, E>>,
    {
        loop {
            if let Sent::Answered(answer) = self.send(&mut request).await? {
                return Ok(answer);
            }
        }
    }

    /// The reads of a write, in what is left of its time: a lost reply of theirs is no lost write.
    #[must_use]
    pub fn reads(&self) -> Self {
        Self {
            resend: Resend::Reads,
            failed: 0,
            lost: None,
            ..*self
        }
    }

    /// Whether a reply was lost: the write may have been applied.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// What a write found that its condition did not hold on, as the answer to its caller.
    ///
    /// If a reply was lost before, the write may have been applied, and what was found have come later.
    #[must_use]
    pub fn refuse(&mut self, error: Error) -> Error {
        match self.lost.take() {
            Some(lost) => lost.with_outcome(Outcome::Unknown).with_message(
                "a reply was lost, and what is stored now does not tell what became of the write",
            ),
            None => error,
        }
    }

    /// The error of a call of which an earlier reply may be lost.
    #[must_use]
    pub fn in_doubt(&self, error: Error) -> Error {
        match self.lost {
            Some(_) => error.with_outcome(Outcome::Unknown),
            None => error,
        }
    }

    /// Waits for a turn, as long as the call has time. Nothing of it has been sent.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if the time is over.
    pub async fn wait_for<T>(&self, turn: impl Future<Output = T>) -> Result<T> {
        let turn = self.retries.deadlines.limit(self.deadline, turn).await;
        turn.ok_or_else(|| {
            Error::new(ErrorKind::Unavailable)
                .with_message("others wrote at this key, until the time was over")
        })
    }

    /// The condition failed, but by now it would hold: others are at the same key. Waits a little.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if the time is over.
    pub async fn overtaken(&mut self) -> Result<()> {
        let pause = pause::OVERTAKEN.after(self.overtaken);
        self.overtaken += 1;
        if Instant::now() + pause >= self.deadline {
            let error = Error::new(ErrorKind::Unavailable)
                .with_message("others were faster at this key, until the time was over");
            return Err(self.refuse(error));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    async fn failed(&mut self, failure: Failure) -> Result<()> {
        let Failure { error, fate } = failure;
        let pause = pause::FAILURE.after(self.failed);
        self.failed += 1;
        let in_time = self.failed < self.retries.policy().max_attempts
            && Instant::now() + pause < self.deadline;
        let goes_on = match fate {
            Fate::Refused => false,
            Fate::NotApplied => in_time,
            Fate::Lost => in_time && self.resend != Resend::Never,
        };
        if fate == Fate::Lost && self.resend != Resend::Reads {
            if !goes_on {
                return Err(error.with_outcome(Outcome::Unknown));
            }
            self.lost.get_or_insert(error);
        } else if !goes_on {
            // Not applied, this time.
            return Err(self.in_doubt(error));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use super::*;
    use crate::policy::RetryPolicy;

    fn failure(fate: Fate) -> Failure {
        Failure::new(Error::new(ErrorKind::Unavailable), fate)
    }

    /// Requests that fail in these ways, and then one that is answered: how many were sent, and what came of it.
    async fn sends(resend: Resend, fates: &[Fate]) -> (usize, Result<()>) {
        let retries = Retries::new(RetryPolicy {
            max_attempts: 3,
            ..RetryPolicy::default()
        });
        let mut attempts = retries.attempts(resend);
        let mut sent = 0;
        let done = attempts.answer(|| {
            let fate = fates.get(sent).copied();
            sent += 1;
            ready(fate.map_or(Ok(()), |fate| Err(failure(fate))))
        });
        let done = done.await;
        (sent, done)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_again_and_what_is_said_in_the_end() {
        use Fate::{Lost, NotApplied, Refused};
        use Outcome::Unknown;
        use Resend::{Never, Reads, Recognizes};

        let not = Outcome::NotApplied;
        for (resend, fates, times, outcome) in [
            (Never, &[][..], 1, None),
            (Never, &[NotApplied, NotApplied], 3, None),
            (Never, &[NotApplied; 3], 3, Some(not)),
            (Never, &[NotApplied, Refused], 2, Some(not)),
            (Never, &[NotApplied, Lost], 2, Some(Unknown)),
            (Recognizes, &[Lost, Lost], 3, None),
            (Recognizes, &[Lost; 3], 3, Some(Unknown)),
            (
                Recognizes,
                &[Lost, NotApplied, NotApplied],
                3,
                Some(Unknown),
            ),
            (Recognizes, &[Lost, Refused], 2, Some(Unknown)),
            (Recognizes, &[Refused], 1, Some(not)),
            (Reads, &[Lost, Lost], 3, None),
            (Reads, &[Lost; 3], 3, Some(not)),
        ] {
            let (sent, done) = sends(resend, fates).await;
            assert_eq!(sent, times, "{resend:?} {fates:?}");
            let said = done.err().map(|error| error.outcome());
            assert_eq!(said, outcome, "{resend:?} {fates:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_ends_when_its_time_is_over() {
        let retries = Retries::new(RetryPolicy {
            max_attempts: u32::MAX,
            ..RetryPolicy::default()
        });
        let begun = Instant::now();
        let mut attempts = retries.attempts(Resend::Reads);
        let never = || pending::<Result<(), Failure>>();
        let error = attempts.answer(never).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        let taken = begun.elapsed();
        let longest = retries.policy().operation_timeout;
        assert!(taken <= longest && taken > longest / 2, "{taken:?}");
        assert!(attempts.wait_for(pending::<()>()).await.is_err());
        assert_eq!(begun.elapsed(), longest);
        assert!(attempts.overtaken().await.is_err());
        assert!(begun.elapsed() < longest + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_lost_reply_a_condition_that_failed_says_nothing() {
        let retries = Retries::new(RetryPolicy::default());
        let refusal = || Error::new(ErrorKind::ConditionFailed);
        let mut attempts = retries.attempts(Resend::Recognizes);
        assert_eq!(attempts.refuse(refusal()).outcome(), Outcome::NotApplied);
        let lost = attempts.send(|| ready(Err::<(), _>(failure(Fate::Lost))));
        assert!(matches!(lost.await, Ok(Sent::Again)));
        assert!(attempts.has_lost());
        assert_eq!(attempts.in_doubt(refusal()).outcome(), Outcome::Unknown);
        // What it reads is another matter.
        assert!(!attempts.reads().has_lost());
        let error = attempts.refuse(refusal());
        assert_eq!(error.outcome(), Outcome::Unknown);
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
    }
}
