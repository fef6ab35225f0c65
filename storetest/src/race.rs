//! Tasks that start together, and writes side by side.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::join_all;
use tokio::sync::Barrier;

/// How many requests are in flight while a case fills its store.
const WIDTH: usize = 64;

/// Runs tasks that all start at one moment, on the runtime's threads; their outputs by number.
pub(crate) async fn race<T, F>(tasks: usize, task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(Barrier::new(tasks));
    let running = (0..tasks).map(|number| {
        let start = Arc::clone(&start);
        let body = task(number);
        tokio::spawn(async move {
            start.wait().await;
            body.await
        })
    });
    let ended = join_all(running.collect::<Vec<_>>()).await;
    ended
        .into_iter()
        .map(|joined| joined.unwrap_or_else(|error| resume_unwind(error.into_panic())))
        .collect()
}

/// Does the same for every item, many at a time: what fills a store with thousands of records in
/// seconds, on a backend of milliseconds a write.
pub(crate) async fn for_each<I, F>(items: impl IntoIterator<Item = I>, body: impl Fn(I) -> F)
where
    F: Future<Output = ()>,
{
    futures::stream::iter(items)
        .for_each_concurrent(WIDTH, body)
        .await;
}
