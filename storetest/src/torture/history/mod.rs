//! Many clients at once: what each was told must be explained by some order of all their calls.
//!
//! Each write stores something that no other write stores, so a read says which write it has seen. Beginnings and ends
//! of calls are numbered by one counter: no clock decides what was over before something else began. The store's clock
//! is stepped by the clients as they go; a call may have been told what was true at any time that the clock showed while
//! it was under way.
//!
//! A call of unknown outcome may happen at any later time, or never. A failure that says that nothing has happened must
//! be right. Reads that failed say nothing.

pub(crate) mod call;
mod checker;
pub(crate) mod claims;
pub(crate) mod documents;
pub(crate) mod journal;
#[cfg(test)]
mod tests;

use std::future::Future;

use fastrand::Rng;
use futures::future::join_all;

use super::rounds::rounds;
use super::{Settings, Tally};
use crate::Harness;

/// How many clients there are, and how much each does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) clients: usize,
    pub(crate) calls: usize,
    /// Whether calls may fail, because something is in their way on purpose.
    pub(crate) may_fail: bool,
}

/// Without faults: many clients on few keys, and each history short enough to be judged in milliseconds.
const CROWD: Shape = Shape {
    clients: 32,
    calls: 12,
    may_fail: false,
};

/// Concurrent histories of records and counters.
pub fn check_documents(harness: &dyn Harness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| harness.documents(namespace, clock).await,
        async |fixture, seed| {
            let (store, clock) = (fixture.store.clone(), fixture.clock.clone());
            documents::history(store, clock, seed, CROWD, || ()).await
        },
    )
}

/// Concurrent histories of claims.
pub fn check_claims(harness: &dyn Harness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| harness.changes(namespace, clock).await,
        async |fixture, seed| {
            let (store, clock) = (fixture.store.clone(), fixture.clock.clone());
            claims::history(store, clock, seed, CROWD, || ()).await
        },
    )
}

/// Runs the clients on the runtime's threads, each with a source of its own to draw from; what they panicked with.
async fn clients<F>(shape: Shape, random: &mut Rng, client: impl Fn(usize, Rng) -> F) -> Vec<String>
where
    F: Future<Output = ()> + Send + 'static,
{
    let running: Vec<_> = (0..shape.clients)
        .map(|number| tokio::spawn(client(number, random.fork())))
        .collect();
    let ended = join_all(running).await;
    let panics = ended.into_iter().filter_map(Result::err);
    panics.map(|error| error.to_string()).collect()
}
