//! Deadlines that cost no waking.
//!
//! The thread that waits for sockets also waits for timers, until the earliest. A timer that is to go off before that has
//! to wake it, so that it waits less long; and where there is no other timer, each one is the earliest. Then every request
//! would pay for a thread woken in vain, which takes about as long as the rest of what is done for it here. So
//! one timer is kept that goes off before those of the requests: whoever waits is waiting for that already.

use std::pin::Pin;
use std::task::{Context, Waker};

use parking_lot::Mutex;
use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

#[derive(Debug, Default)]
pub(crate) struct Deadlines(Mutex<Option<Sentinel>>);

/// A timer that wakes nobody.
#[derive(Debug)]
struct Sentinel {
    /// Each runtime has timers of its own.
    runtime: Id,
    timer: Pin<Box<Sleep>>,
}

impl Deadlines {
    /// The future's output, or none if it is not there by the deadline.
    pub(crate) async fn limit<F: Future>(&self, deadline: Instant, future: F) -> Option<F::Output> {
        self.keep_sentinel(deadline);
        timeout_at(deadline, future).await.ok()
    }

    /// Sees to it that a timer goes off no later than at that time.
    fn keep_sentinel(&self, deadline: Instant) {
        let runtime = Handle::current().id();
        let mut sentinel = self.0.lock();
        let stands = sentinel.as_ref().is_some_and(|sentinel| {
            sentinel.runtime == runtime && sentinel.timer.deadline() > Instant::now()
        });
        if !stands {
            let mut timer = Box::pin(sleep_until(deadline));
            // A timer is set when it is first asked.
            let _ = timer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            *sentinel = Some(Sentinel { runtime, timer });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_future_has_its_own_deadline() {
        let deadlines = Deadlines::default();
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(deadlines.limit(after(30), ready(1)).await, Some(1));
        // Earlier and later than the sentinel.
        assert_eq!(deadlines.limit(after(10), pending::<()>()).await, None);
        assert_eq!(begun.elapsed().as_secs(), 10);
        assert_eq!(deadlines.limit(after(60), pending::<()>()).await, None);
        assert_eq!(begun.elapsed().as_secs(), 60);
        // A deadline that is over leaves what is ready its chance.
        assert_eq!(deadlines.limit(after(1), ready(3)).await, Some(3));
        assert_eq!(deadlines.limit(after(1), pending::<()>()).await, None);
    }

    /// A runtime that is gone takes its timers with it; those of the next are its own.
    #[test]
    fn deadlines_outlive_a_runtime() {
        let deadlines = Deadlines::default();
        for _ in 0..3 {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            runtime.block_on(async {
                let deadline = Instant::now() + Duration::from_secs(5);
                assert_eq!(deadlines.limit(deadline, ready(1)).await, Some(1));
                assert_eq!(deadlines.limit(deadline, pending::<()>()).await, None);
            });
        }
    }
}
