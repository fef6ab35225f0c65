//! Every operation on claims, under every fault.

use std::sync::Arc;

use changestore_core::{ChangeKey, ChangeStore};
use futures::future::join_all;

use super::{Fault, Share, Site, bounded};
use crate::torture::history::claims::{Client, Shared};
use crate::torture::history::journal::Journal;
use crate::torture::tries::sickness;
use crate::torture::{Anomaly, Tally};

/// A call under a fault, with what is at its key before.
#[derive(Debug, Clone, Copy)]
enum Trial {
    Create,
    CreateAgain,
    Update,
    StaleUpdate,
    UpdateOfNothing,
    GetByUri,
}

impl Trial {
    const ALL: [Self; 6] = [
        Self::Create,
        Self::CreateAgain,
        Self::Update,
        Self::StaleUpdate,
        Self::UpdateOfNothing,
        Self::GetByUri,
    ];

    async fn call(self, client: &mut Client, key: &ChangeKey) {
        match self {
            Self::Create | Self::CreateAgain => drop(client.create(key).await),
            Self::Update | Self::UpdateOfNothing => drop(client.update(key, 1).await),
            Self::StaleUpdate => drop(client.update(key, 7).await),
            Self::GetByUri => drop(client.read(key, std::slice::from_ref(key)).await),
        }
    }
}

/// A share of the operations, under every fault.
pub(super) async fn matrix(site: &Site<dyn ChangeStore>, seed: u64, share: Share) -> Tally {
    let shared = Arc::new(Shared {
        store: site.fixture.store.clone(),
        journal: Journal::new(site.fixture.clock.clone(), seed),
    });
    'all: for fault in site.proxy.faults() {
        for trial in share.take(Trial::ALL) {
            // The first request of a call, and the second if it has one.
            for after in 0..2 {
                if !one(site, &shared, fault, trial, after).await {
                    break 'all;
                }
            }
        }
    }
    shared.journal.judge().await
}

/// One call under one fault; whether the store is still of use.
async fn one(
    site: &Site<dyn ChangeStore>,
    shared: &Arc<Shared>,
    fault: Fault,
    trial: Trial,
    after: usize,
) -> bool {
    let what = format!("{trial:?} with {fault:?} after {after} requests");
    let mut client = Client::new(shared, 0);
    let queue = shared.journal.data_of(shared.journal.new_write());
    let key = ChangeKey::new(queue, &*what, "request").expect("legal");
    if !matches!(trial, Trial::Create | Trial::UpdateOfNothing)
        && let Some(error) = sickness(async || client.create(&key).await).await
    {
        let shown = format!("before {what}: {error:?}");
        shared.journal.violation(Anomaly::Unhealthy, shown).await;
    }
    site.proxy.once(after, fault);
    if bounded(trial.call(&mut client, &key)).await.is_none() {
        shared.journal.violation(Anomaly::Unbounded, &*what).await;
        return false;
    }
    site.proxy.calm();
    // More calls at once than there were before: whatever the fault has left behind is met.
    let calls =
        (0..4).map(|_| sickness(async || shared.store.get_by_uri(key.queue(), key.uri()).await));
    let sick: Vec<_> = join_all(calls).await.into_iter().flatten().collect();
    if let Some(error) = sick.first() {
        let shown = format!("after {what}: {error:?}");
        shared.journal.violation(Anomaly::Unhealthy, shown).await;
        return false;
    }
    let keys = std::slice::from_ref(&key);
    drop(client.read(&key, keys).await);
    if let Some(version) = client.seen.get(&key).copied() {
        drop(client.update(&key, version).await);
    }
    drop(client.read(&key, keys).await);
    true
}
