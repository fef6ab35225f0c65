//! Concurrent histories of a document store.

mod client;
mod spec;

use std::sync::Arc;
use std::time::Duration;

use changestore_core::{DocumentStore, Key, ManualClock, Timestamp};
use fastrand::Rng;

pub(crate) use client::{Client, Shared};
pub(crate) use spec::If;
#[cfg(test)]
pub(crate) use spec::{Action, Answer, Document};

use super::journal::Journal;
use super::{Shape, clients};
use crate::texts::CONFUSABLE;
use crate::torture::tries::sickness;
use crate::torture::{Anomaly, Tally};

/// One history: clients that draw their calls, then, with the network calm, a look at what is left, then the judgement.
pub(crate) async fn history(
    store: Arc<dyn DocumentStore>,
    clock: ManualClock,
    seed: u64,
    shape: Shape,
    calm: impl FnOnce(),
) -> Tally {
    let mut random = Rng::with_seed(seed);
    let shared = Shared::new(store, Journal::new(clock, seed));
    let keys: Arc<[Key]> = keys(&shared, &mut random).into();
    let panics = clients(shape, &mut random, |number, random| {
        let client = Client::new(&shared, number);
        run(client, Arc::clone(&keys), random, shape.calls)
    })
    .await;
    for panic in panics {
        shared.journal.violation(Anomaly::Panic, panic).await;
    }
    calm();
    look_at(&shared, &keys).await;
    if shape.may_fail {
        shared.journal.may_have_failed().await;
    }
    shared.journal.must_not_have_failed().await;
    shared.journal.judge().await
}

/// Two keys of records, one of a counter, and one that is fought for; in one partition that nobody else has, with
/// texts that careless stores confuse.
fn keys(shared: &Shared, random: &mut Rng) -> Vec<Key> {
    let text = random.choice(CONFUSABLE).expect("some");
    let pk = format!("{}:{text}", shared.journal.data_of(0));
    let first = random.usize(..CONFUSABLE.len());
    let sort_keys = CONFUSABLE.iter().cycle().skip(first).take(4);
    sort_keys
        .map(|sk| Key::new(pk.as_str(), *sk).expect("legal"))
        .collect()
}

async fn run(mut client: Client, keys: Arc<[Key]>, mut random: Rng, calls: usize) {
    for _ in 0..calls {
        call(&mut client, &keys, &mut random).await;
    }
}

/// One call, whatever becomes of it: it is written down.
async fn call(client: &mut Client, keys: &[Key], random: &mut Rng) {
    let record = &keys[[0, 1, 3][random.usize(..3)]];
    let counter = &keys[random.usize(2..4)];
    let expire_at = expiry(client, random);
    match random.u32(..100) {
        0..25 => drop(client.get(record).await),
        25..30 => drop(client.query(record.pk(), keys, random.bool()).await),
        30..62 => {
            let condition = match random.u32(..8) {
                0..2 => If::Always,
                2 => If::Absent,
                3..5 => client.on_seen(record, false),
                _ => client.on_seen(record, true),
            };
            drop(client.put(record, condition, expire_at).await);
        }
        62..72 => {
            let condition = match client.on_seen(record, random.bool()) {
                // No delete can ask for that.
                If::Absent => If::Always,
                _ if random.u32(..4) == 0 => If::Always,
                other => other,
            };
            drop(client.delete(record, condition).await);
        }
        72..95 => drop(
            client
                .increment(counter, random.i64(-2..10), expire_at)
                .await,
        ),
        _ => {
            let step = Duration::from_millis(random.u64(1..=3));
            client.shared.journal.clock().advance(step);
        }
    }
}

/// Mostly none, otherwise a time that will soon be there.
fn expiry(client: &Client, random: &mut Rng) -> Option<Timestamp> {
    let soon = Duration::from_millis(random.u64(1..=6));
    let expires = random.u32(..4) == 0;
    expires.then(|| client.shared.journal.now().saturating_add(soon))
}

/// Reads everything when all is quiet: what was acknowledged must be there.
async fn look_at(shared: &Arc<Shared>, keys: &[Key]) {
    let mut client = Client::new(shared, usize::MAX);
    for key in keys {
        if let Some(error) = sickness(async || client.get(key).await).await {
            let shown = format!("at the end: {error:?}");
            shared.journal.violation(Anomaly::Unhealthy, shown).await;
        }
        drop(client.increment(key, 0, None).await);
    }
    drop(client.query(keys[0].pk(), keys, false).await);
}
