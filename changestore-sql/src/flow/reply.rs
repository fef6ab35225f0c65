//! An answer that is owed to a caller, and is given whatever happens.

use changestore_core::{Error, ErrorKind, Outcome, Result};
use tokio::sync::oneshot;

/// The caller's end of a call that another task does.
pub(crate) type Answer<T> = oneshot::Receiver<Result<T>>;

/// The other task's end. One that is dropped, because its task is no more, answers that; and it knows
/// whether the database may have been asked.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    caller: Option<oneshot::Sender<Result<T>>>,
    is_begun: bool,
}

impl<T> Reply<T> {
    pub(crate) fn new() -> (Self, Answer<T>) {
        let (caller, answer) = oneshot::channel();
        let reply = Self {
            caller: Some(caller),
            is_begun: false,
        };
        (reply, answer)
    }

    /// Says that from now on the work may have been done, or that after all it was not.
    pub(crate) fn set_begun(&mut self, is_begun: bool) {
        self.is_begun = is_begun;
    }

    /// Whether the caller has gone away.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.caller.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    pub(crate) fn send(mut self, result: Result<T>) {
        if let Some(caller) = self.caller.take() {
            // A caller that is gone wants no answer.
            let _ = caller.send(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(caller) = self.caller.take() {
            let outcome = if self.is_begun {
                Outcome::Unknown
            } else {
                Outcome::NotApplied
            };
            let _ = caller.send(Err(abandoned().with_outcome(outcome)));
        }
    }
}

/// The answer to those who come after a store was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable)
        .with_message("the store is closed")
        .with_retryable(false)
}

/// The answer of a task that is no more: it ended with its runtime, or the store was closed just now.
pub(crate) fn abandoned() -> Error {
    Error::new(ErrorKind::Unavailable)
        .with_message("the store is closed, or the runtime that it was opened on has ended")
        .with_retryable(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_when_dropped(is_begun: &[bool]) -> Outcome {
        let (mut reply, mut answer) = Reply::<()>::new();
        for is_begun in is_begun {
            reply.set_begun(*is_begun);
        }
        assert!(answer.try_recv().is_err(), "nothing was said yet");
        drop(reply);
        answer.try_recv().unwrap().unwrap_err().outcome()
    }

    #[test]
    fn only_what_was_begun_is_unknown() {
        assert_eq!(outcome_when_dropped(&[]), Outcome::NotApplied);
        assert_eq!(outcome_when_dropped(&[true]), Outcome::Unknown);
        assert_eq!(outcome_when_dropped(&[true, false]), Outcome::NotApplied);
    }
}
