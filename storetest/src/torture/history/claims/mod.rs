//! Concurrent histories of a change store.

mod client;
mod spec;

use std::sync::Arc;

use changestore_core::{ChangeKey, ChangeStore, ManualClock};
use fastrand::Rng;

pub(crate) use client::{Client, Shared};

use super::journal::Journal;
use super::{Shape, clients};
use crate::texts::CONFUSABLE;
use crate::torture::tries::sickness;
use crate::torture::{Anomaly, Tally};

/// One history: clients that draw their calls, then, with the network calm, a look at what is left, then the judgement.
pub(crate) async fn history(
    store: Arc<dyn ChangeStore>,
    clock: ManualClock,
    seed: u64,
    shape: Shape,
    calm: impl FnOnce(),
) -> Tally {
    let mut random = Rng::with_seed(seed);
    let journal = Journal::new(clock, seed);
    let shared = Arc::new(Shared { store, journal });
    let keys: Arc<[ChangeKey]> = keys(&shared, &mut random).into();
    let panics = clients(shape, &mut random, |number, random| {
        let client = Client::new(&shared, number);
        run(client, Arc::clone(&keys), random, shape.calls)
    })
    .await;
    for panic in panics {
        shared.journal.violation(Anomaly::Panic, panic).await;
    }
    calm();
    let mut client = Client::new(&shared, usize::MAX);
    for key in &*keys {
        if let Some(error) = sickness(async || client.read(key, &keys).await).await {
            let shown = format!("at the end: {error:?}");
            shared.journal.violation(Anomaly::Unhealthy, shown).await;
        }
    }
    if shape.may_fail {
        shared.journal.may_have_failed().await;
    }
    shared.journal.must_not_have_failed().await;
    shared.journal.judge().await
}

/// Two requests on each of two URIs, in a queue that nobody else has, with texts that careless stores confuse.
pub(crate) fn keys(shared: &Shared, random: &mut Rng) -> Vec<ChangeKey> {
    let text = random.choice(CONFUSABLE).expect("some");
    let queue = format!("{}:{text}", shared.journal.data_of(0));
    let first = random.usize(..CONFUSABLE.len());
    let texts: Vec<_> = CONFUSABLE.iter().cycle().skip(first).take(4).collect();
    let pairs = [(0, 2), (0, 3), (1, 2), (1, 3)];
    let keys = pairs.map(|(uri, request)| {
        ChangeKey::new(queue.as_str(), *texts[uri], *texts[request]).expect("legal")
    });
    keys.into()
}

async fn run(mut client: Client, keys: Arc<[ChangeKey]>, mut random: Rng, calls: usize) {
    for _ in 0..calls {
        let key = random.choice(&*keys).expect("some");
        match random.u32(..100) {
            0..15 => drop(client.create(key).await),
            15..45 => drop(client.read(key, &keys).await),
            _ => {
                let seen = client.seen.get(key).copied().unwrap_or(1);
                // Sometimes one that nobody has written yet.
                let old = seen + u64::from(random.u32(..10) == 0);
                drop(client.update(key, old).await);
            }
        }
    }
}
