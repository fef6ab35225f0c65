//! One call of a store's method: its requests, one after the other, until one of them is answered.
//!
//! The SDK's own retries are off. It cannot know that a resent write failed its condition on what its first
//! attempt has written, and it would send a condition with the time of the first attempt. Here each
//! attempt is made anew, and a call remembers that a reply of its own was lost.

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher;
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::SdkError;
use changestore_core::{Error, ErrorKind, Outcome, Result};
use tokio::time::Instant;

use crate::classify::{self, About, Failure, Fate};
use crate::layout::Item;
use crate::refusal::Conditional;

/// How long and how often a call tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// The longest that a request may take.
    pub(crate) attempt: Duration,
    /// The longest that a call may take.
    pub(crate) operation: Duration,
    /// How many requests that fail a call may make.
    pub(crate) attempts: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(5),
            operation: Duration::from_secs(30),
            attempts: 10,
        }
    }
}

/// The first pause after a failure, and the longest; each is doubled, and cut at random.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// After somebody else was faster: about a round trip.
const YIELD: Duration = Duration::from_millis(1);
const LONGEST_YIELD: Duration = Duration::from_millis(50);

/// What a lost reply means for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resend {
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
pub(crate) enum Sent<T> {
    Answered(T),
    /// Its condition did not hold on this item; none if there was no item, or the server did not return it.
    Refused(Option<Item>),
    /// It failed, and has been waited for: send it again.
    Again,
}

/// The requests of one call.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    patience: Patience,
    about: About<'a>,
    resend: Resend,
    deadline: Instant,
    failed: u32,
    overtaken: u32,
    /// The first reply that was lost, of a write.
    lost: Option<Error>,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(patience: Patience, about: About<'a>, resend: Resend) -> Self {
        Self {
            patience,
            about,
            resend,
            deadline: after(patience.operation),
            failed: 0,
            overtaken: 0,
            lost: None,
        }
    }

    /// Sends one request. Where it failed and may be sent again, waits until it is time to.
    pub(crate) fn send<T, E, F>(
        &mut self,
        request: impl FnOnce() -> F + Send,
    ) -> impl Future<Output = Result<Sent<T>>> + Send
    where
        T: Send,
        E: Conditional,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
    {
        // The SDK's are tens of kilobytes, and each future around one would be as large. Made in the box, it is not moved.
        let request = Box::pin(async move { request().await });
        async move {
            let until = self.deadline.min(after(self.patience.attempt));
            let failure = match tokio::time::timeout_at(until, request).await {
                Ok(Ok(answer)) => return Ok(Sent::Answered(answer)),
                Ok(Err(SdkError::ServiceError(error))) if error.err().is_refusal() => {
                    return Ok(Sent::Refused(error.into_err().into_item()));
                }
                Ok(Err(error)) => classify::classify(&error, self.about),
                Err(_elapsed) => classify::timed_out(),
            };
            self.failed(failure).await?;
            Ok(Sent::Again)
        }
    }

    /// Sends a request that has no condition until it is answered.
    pub(crate) async fn answer<T, E, F>(
        &mut self,
        mut request: impl FnMut() -> F + Send,
    ) -> Result<T>
    where
        T: Send,
        E: Conditional,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
    {
        loop {
            match self.send(&mut request).await? {
                Sent::Answered(answer) => return Ok(answer),
                Sent::Refused(_) => {
                    return Err(Error::new(ErrorKind::Other)
                        .with_message("a condition failed that was not asked for"));
                }
                Sent::Again => {}
            }
        }
    }

    /// The reads of a write, in what is left of its time: a lost reply of theirs is no lost write.
    pub(crate) fn reads(&self) -> Attempts<'a> {
        Attempts {
            resend: Resend::Reads,
            failed: 0,
            lost: None,
            ..*self
        }
    }

    /// What a write found that its condition did not hold on, as the answer to its caller.
    ///
    /// If a reply was lost before, the write may have been applied, and what was found have come later.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        match self.lost.take() {
            Some(lost) => lost.with_outcome(Outcome::Unknown).with_message(
                "a reply was lost, and what is stored now does not tell what became of the write",
            ),
            None => error,
        }
    }

    /// The condition failed, but by now it would hold: others are at the same key. Waits a little.
    pub(crate) async fn overtaken(&mut self) -> Result<()> {
        let pause = pause(YIELD, LONGEST_YIELD, self.overtaken);
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
        let pause = pause(FIRST_PAUSE, LONGEST_PAUSE, self.failed);
        self.failed += 1;
        let in_time =
            self.failed < self.patience.attempts && Instant::now() + pause < self.deadline;
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

    /// The error of a call of which an earlier reply may be lost.
    pub(crate) fn in_doubt(&self, error: Error) -> Error {
        match self.lost {
            Some(_) => error.with_outcome(Outcome::Unknown),
            None => error,
        }
    }
}

/// The time in so long; in a year at the latest, which is for ever here.
fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    Instant::now() + time.min(YEAR)
}

/// A pause that doubles with each failure, and is somewhere between its half and its whole.
fn pause(first: Duration, longest: Duration, failures: u32) -> Duration {
    let whole = first.saturating_mul(1 << failures.min(16)).min(longest);
    // The keys of a new `RandomState` are random, and with them the hash of anything.
    let percent = u32::try_from(RandomState::new().hash_one(failures) % 51).unwrap_or(0);
    whole * (50 + percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_stay() {
        let pauses: Vec<_> = (0..40)
            .map(|failures| pause(FIRST_PAUSE, LONGEST_PAUSE, failures))
            .collect();
        assert!(pauses[0] <= FIRST_PAUSE && pauses[0] >= FIRST_PAUSE / 2);
        assert!(
            pauses[8..]
                .iter()
                .all(|pause| (LONGEST_PAUSE / 2..=LONGEST_PAUSE).contains(pause))
        );
    }
}
