//! The requests of a call, as the SDK makes them: answered, refused by their own condition, or failed.
//!
//! The SDK's own retries are off. It cannot know that a resent write failed its condition on what its first
//! attempt has written, and it would send a condition with the time of the first attempt.

use std::ops::{Deref, DerefMut};

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::SdkError;
use changestore_core::{Error, ErrorKind, Result};
use changestore_retry::Failure;

use crate::classify::{About, classify};
use crate::layout::Item;
use crate::refusal::Conditional;

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
    attempts: changestore_retry::Attempts<'a>,
    about: About<'a>,
}

/// What the server said.
enum Answer<T> {
    Done(T),
    Refused(Option<Item>),
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(attempts: changestore_retry::Attempts<'a>, about: About<'a>) -> Self {
        Self { attempts, about }
    }

    /// Sends one request. Where it failed and may be sent again, waits until it is time to.
    pub(crate) async fn send<T, E, F>(&mut self, request: impl FnOnce() -> F) -> Result<Sent<T>>
    where
        E: Conditional,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    {
        let about = self.about;
        let sent = self.attempts.send(async || {
            // The SDK's are kilobytes, and each future around one would be as large and more.
            let request = Box::pin(request());
            answer(request.await, about)
        });
        Ok(match sent.await? {
            changestore_retry::Sent::Answered(Answer::Done(answer)) => Sent::Answered(answer),
            changestore_retry::Sent::Answered(Answer::Refused(item)) => Sent::Refused(item),
            changestore_retry::Sent::Again => Sent::Again,
        })
    }

    /// Sends a request that has no condition until it is answered.
    pub(crate) async fn answer<T, E, F>(&mut self, mut request: impl FnMut() -> F) -> Result<T>
    where
        E: Conditional,
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
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
    pub(crate) fn reads(&self) -> Self {
        Self {
            attempts: self.attempts.reads(),
            ..*self
        }
    }
}

impl<'a> Deref for Attempts<'a> {
    type Target = changestore_retry::Attempts<'a>;

    fn deref(&self) -> &Self::Target {
        &self.attempts
    }
}

impl DerefMut for Attempts<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.attempts
    }
}

fn answer<T, E: Conditional>(
    result: Result<T, SdkError<E, HttpResponse>>,
    about: About<'_>,
) -> Result<Answer<T>, Failure> {
    match result {
        Ok(answer) => Ok(Answer::Done(answer)),
        Err(SdkError::ServiceError(error)) if error.err().is_refusal() => {
            Ok(Answer::Refused(error.into_err().into_item()))
        }
        Err(error) => Err(classify(&error, about)),
    }
}
