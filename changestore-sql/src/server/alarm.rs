//! A deadline for one future after the other, at the price of one timer.
//!
//! A timer that is set and taken back for each statement wakes the thread that waits for the sockets each time, which
//! takes longer than a read. This one stays set: it goes off at the deadline of a statement that has long
//! been answered, and only then is set to that of the one under way.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Debug)]
pub(super) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    pub(super) fn new() -> Self {
        Self(Box::pin(sleep_until(Instant::now())))
    }

    /// The future's output, or none if it is not there by the deadline.
    pub(super) async fn limit<F: Future>(
        &mut self,
        deadline: Instant,
        future: F,
    ) -> Option<F::Output> {
        let mut future = pin!(future);
        if self.0.deadline() > deadline {
            self.0.as_mut().reset(deadline);
        }
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            while self.0.as_mut().poll(context).is_ready() {
                if self.0.deadline() >= deadline {
                    return Poll::Ready(None);
                }
                self.0.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_future_has_its_own_deadline() {
        let mut alarm = Alarm::new();
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(alarm.limit(after(30), ready(1)).await, Some(1));
        // An earlier deadline than the one that is set.
        assert_eq!(alarm.limit(after(10), pending::<()>()).await, None);
        assert_eq!(begun.elapsed().as_secs(), 10);
        // A later one: the timer goes off too early, and is set again.
        assert_eq!(alarm.limit(after(20), ready(2)).await, Some(2));
        let slow = sleep(Duration::from_secs(25));
        assert_eq!(alarm.limit(after(60), slow).await, Some(()));
        assert_eq!(alarm.limit(after(60), pending::<()>()).await, None);
        assert_eq!(begun.elapsed().as_secs(), 60);
        // A deadline that is over leaves what is ready its chance.
        assert_eq!(alarm.limit(after(1), ready(3)).await, Some(3));
        assert_eq!(alarm.limit(after(1), pending::<()>()).await, None);
    }
}
