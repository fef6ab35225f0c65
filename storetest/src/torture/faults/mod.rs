//! Faults of the network: every operation under every fault, and histories and programs under random ones.
//!
//! What a call is told under a fault must be true: it happened, it did not, or nobody can know, and the calls before
//! and after it must be explained by one of these. Each call ends, and when the network is well again so is the store,
//! with its next calls.

mod claims;
mod documents;
mod fault;
mod harness;
mod programs;
mod proxy;

use std::future::Future;
use std::time::Duration;

use changestore_core::{ChangeStore, Clock as _, DocumentStore, ManualClock};
use fastrand::Rng;
use futures::future::join_all;

pub use fault::Fault;
pub use harness::{Answers, NetworkHarness, Route};
pub use programs::check as check_programs;

use super::history::{self, Shape};
use super::rounds::{Opened, rounds};
use super::{Settings, Tally};
use crate::Fixture;
pub(super) use proxy::Proxy;

/// How long a call may take by its store's options.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a call may take before it is said not to end: far longer, for a machine that is slow is no failure.
const LONGEST: Duration = Duration::from_secs(20);

/// With faults there are fewer calls, since those of unknown outcome are many more possible orders.
const FEW: Shape = Shape {
    clients: 8,
    calls: 12,
    may_fail: true,
};

/// One of so many requests has a fault.
const RATE: u32 = 24;

/// So many stores, each behind a proxy of its own: under a fault that hangs there is nothing to do but to wait. Not
/// more, since servers have only so many connections.
const SITES: usize = 3;

/// A store behind a proxy.
struct Site<S: ?Sized> {
    fixture: Fixture<S>,
    proxy: Proxy,
}

impl<S: ?Sized> Opened for Site<S> {
    async fn clean_up(&mut self) {
        self.proxy.calm();
        self.fixture.clean_up().await;
    }
}

impl<S: ?Sized> Site<S> {
    async fn open(
        harness: &impl NetworkHarness,
        open: impl AsyncFnOnce(Route) -> Fixture<S>,
    ) -> Self {
        let proxy = Proxy::before(harness.server(), harness.answers()).await;
        let route = Route {
            address: proxy.address(),
            patience: PATIENCE,
        };
        Self {
            fixture: open(route).await,
            proxy,
        }
    }
}

/// Every operation on records and counters, under every fault.
pub fn check_documents(harness: &impl NetworkHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| document_sites(harness, namespace, clock).await,
        async |sites, seed| {
            on_each(sites, seed, async |number, site, seed| {
                documents::matrix(site, seed, Share { number, of: SITES }).await
            })
            .await
        },
    )
}

/// Every operation on claims, under every fault.
pub fn check_claims(harness: &impl NetworkHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| claim_sites(harness, namespace, clock).await,
        async |sites, seed| {
            on_each(sites, seed, async |number, site, seed| {
                claims::matrix(site, seed, Share { number, of: SITES }).await
            })
            .await
        },
    )
}

/// Concurrent histories of records and counters under random faults.
pub fn check_document_histories(harness: &impl NetworkHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| document_sites(harness, namespace, clock).await,
        async |sites, seed| {
            on_each(sites, seed, async |_, site, seed| {
                let (store, clock) = (site.fixture.store.clone(), site.fixture.clock.clone());
                site.proxy.random(seed, RATE);
                let calm = || site.proxy.calm();
                history::documents::history(store, clock, seed, FEW, calm).await
            })
            .await
        },
    )
}

/// Concurrent histories of claims under random faults.
pub fn check_claim_histories(harness: &impl NetworkHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| claim_sites(harness, namespace, clock).await,
        async |sites, seed| {
            on_each(sites, seed, async |_, site, seed| {
                let (store, clock) = (site.fixture.store.clone(), site.fixture.clock.clone());
                site.proxy.random(seed, RATE);
                let calm = || site.proxy.calm();
                history::claims::history(store, clock, seed, FEW, calm).await
            })
            .await
        },
    )
}

type Sites<S> = Vec<Site<S>>;

async fn document_sites(
    harness: &impl NetworkHarness,
    namespace: &str,
    clock: ManualClock,
) -> Sites<dyn DocumentStore> {
    let open = |number| {
        let (name, clock) = (format!("{namespace}s{number}"), apart(&clock));
        Site::open(harness, async move |route| {
            harness.documents_over(route, &name, clock).await
        })
    };
    join_all((0..SITES).map(open)).await
}

async fn claim_sites(
    harness: &impl NetworkHarness,
    namespace: &str,
    clock: ManualClock,
) -> Sites<dyn ChangeStore> {
    let open = |number| {
        let (name, clock) = (format!("{namespace}s{number}"), apart(&clock));
        Site::open(harness, async move |route| {
            harness.changes_over(route, &name, clock).await
        })
    };
    join_all((0..SITES).map(open)).await
}

/// Another clock that shows the same time.
fn apart(clock: &ManualClock) -> ManualClock {
    ManualClock::new(clock.now())
}

/// A round on each site, side by side, each from a seed of its own: the first from the round's.
async fn on_each<S: ?Sized>(
    sites: &Sites<S>,
    seed: u64,
    round: impl AsyncFn(usize, &Site<S>, u64) -> Tally,
) -> Tally {
    let mut seeds = Rng::with_seed(seed);
    let later = std::iter::repeat_with(move || seeds.u64(..));
    let seeds = std::iter::once(seed).chain(later);
    let running = sites
        .iter()
        .zip(seeds)
        .enumerate()
        .map(|(number, (site, seed))| {
            let round = &round;
            async move {
                let before = site.proxy.made();
                let mut tally = round(number, site, seed).await;
                tally.faults = site.proxy.made() - before;
                tally
            }
        });
    let mut sum = Tally::default();
    for tally in join_all(running.collect::<Vec<_>>()).await {
        sum += tally;
    }
    sum
}

/// A part of a list, every so many of it.
#[derive(Debug, Clone, Copy)]
struct Share {
    number: usize,
    of: usize,
}

impl Share {
    fn take<T>(self, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        list.into_iter().skip(self.number).step_by(self.of)
    }
}

/// A call's output, unless it does not end.
pub(super) async fn bounded<T>(call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(LONGEST, call).await.ok()
}
