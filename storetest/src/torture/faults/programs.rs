//! Random programs whose calls have faults of the network, or are dropped.

use std::iter;
use std::panic::resume_unwind;
use std::thread;

use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use fastrand::Rng;
use futures::future::join_all;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::{NetworkHarness, Site};
use crate::torture::model::{self, Stores};
use crate::torture::rounds::rounds;
use crate::torture::{Settings, Tally};

/// So many programs at once, each on two stores.
const PLACES: usize = 2;

type Place = (Site<dyn DocumentStore>, Site<dyn ChangeStore>);

/// Random programs of all operations of both contracts, under random faults.
pub fn check(harness: &impl NetworkHarness, settings: Settings) -> Tally {
    rounds(
        settings,
        async |namespace: &str, clock| {
            let open = |number| {
                let (name, clock) = (format!("{namespace}s{number}"), super::apart(&clock));
                place(harness, name, clock)
            };
            join_all((0..PLACES).map(open)).await
        },
        async |places, seed| block_in_place(|| on_each(&Handle::current(), places, seed)),
    )
}

async fn place(harness: &impl NetworkHarness, name: String, clock: ManualClock) -> Place {
    let documents = Site::open(harness, async |route| {
        harness.documents_over(route, &name, clock.clone()).await
    });
    let documents = documents.await;
    let name = format!("{name}c");
    let changes = Site::open(harness, async |route| {
        harness.changes_over(route, &name, clock.clone()).await
    });
    (documents, changes.await)
}

/// A round in each place, each from a seed of its own: the first from the round's.
fn on_each(runtime: &Handle, places: &[Place], seed: u64) -> Tally {
    let mut seeds = Rng::with_seed(seed);
    let seeds = iter::once(seed).chain(iter::repeat_with(move || seeds.u64(..)));
    thread::scope(|scope| {
        let running: Vec<_> = places
            .iter()
            .zip(seeds)
            .map(|((documents, changes), seed)| {
                let proxies = Some([&documents.proxy, &changes.proxy]);
                let stores = Stores::new(&documents.fixture, &changes.fixture, proxies);
                scope.spawn(move || model::round_under_faults(runtime, &stores, seed))
            })
            .collect();
        let mut sum = Tally::default();
        for ended in running {
            sum += ended.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        sum
    })
}
