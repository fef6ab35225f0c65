//! Futures that are dropped at one of their await points.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use tokio::time::sleep;

/// How many calls are under way at once: they wait for each other's connections and locks, which
/// makes more await points to be dropped at.
const WIDTH: usize = 16;

/// A future that has not ended after so many polls is no call to a store but a retry loop.
pub(crate) const MOST_POLLS: usize = 8;

/// Longer than a store trusts a connection that it does not use. What it asks the server then, the dropped calls
/// have not asked for.
const PAUSE: Duration = Duration::from_secs(3);

/// Where a future is dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CancelPoint {
    /// After so many polls; at 0 the future never runs.
    pub(crate) polls: usize,
    /// Not at once, but when it is woken: its reply has arrived and nobody reads it.
    pub(crate) when_woken: bool,
}

/// Runs a body for each of so many rounds, each with a point to cancel at: all points, in turn.
pub(crate) async fn rounds<F>(count: usize, body: impl Fn(usize, CancelPoint) -> F)
where
    F: Future<Output = ()>,
{
    let points = (0..count).map(|round| CancelPoint {
        polls: round / 2 % MOST_POLLS,
        when_woken: round % 2 == 1,
    });
    futures::stream::iter(points.enumerate())
        .for_each_concurrent(WIDTH, |(round, point)| body(round, point))
        .await;
}

/// Uses as many connections as a store will open, and leaves them alone for a while. Then calls are dropped at all points.
pub(crate) async fn rounds_after_a_pause<F, D>(
    call: impl Fn() -> F,
    dropped: impl Fn(CancelPoint) -> D,
) where
    F: Future<Output = ()>,
    D: Future<Output = ()>,
{
    join_all((0..WIDTH).map(|_| call())).await;
    sleep(PAUSE).await;
    rounds(2 * MOST_POLLS, |_, point| dropped(point)).await;
}

/// Polls a future up to the point and drops it there; its output if it ended before.
pub(crate) async fn drop_at<F: Future>(point: CancelPoint, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut polls = 0;
    poll_fn(move |context| {
        if polls == point.polls {
            return Poll::Ready(None);
        }
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls == point.polls && !point.when_woken => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
