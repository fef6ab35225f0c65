//! Every operation on records and counters, under every fault.

use std::sync::Arc;
use std::time::Duration;

use changestore_core::{DocumentStore, Key};
use futures::future::join_all;

use super::{Fault, Share, Site, bounded};
use crate::torture::history::documents::{Client, If, Shared};
use crate::torture::history::journal::Journal;
use crate::torture::tries::sickness;
use crate::torture::{Anomaly, Tally};

/// A call under a fault, with what is at its key before.
#[derive(Debug, Clone, Copy)]
enum Trial {
    Get,
    GetOfNothing,
    Query,
    Put,
    PutIfAbsent,
    PutIfVersion,
    PutIfEtag,
    PutThatIsRefused,
    Delete,
    DeleteIfEtag,
    IncrementOfNothing,
    Increment,
    IncrementOfAnExpiredOne,
}

impl Trial {
    const ALL: [Self; 13] = [
        Self::Get,
        Self::GetOfNothing,
        Self::Query,
        Self::Put,
        Self::PutIfAbsent,
        Self::PutIfVersion,
        Self::PutIfEtag,
        Self::PutThatIsRefused,
        Self::Delete,
        Self::DeleteIfEtag,
        Self::IncrementOfNothing,
        Self::Increment,
        Self::IncrementOfAnExpiredOne,
    ];

    /// Puts there what the call is to find.
    async fn prepare(self, client: &mut Client, key: &Key) -> changestore_core::Result<()> {
        match self {
            Self::GetOfNothing | Self::PutIfAbsent | Self::IncrementOfNothing => Ok(()),
            Self::Increment => client.increment(key, 5, None).await.map(drop),
            Self::IncrementOfAnExpiredOne => {
                let soon = Duration::from_millis(1);
                let expire_at = client.shared.journal.now().saturating_add(soon);
                let counted = client.increment(key, 5, Some(expire_at)).await;
                client.shared.journal.clock().advance(soon);
                counted.map(drop)
            }
            _ => client.put(key, If::Always, None).await.map(drop),
        }
    }

    async fn call(self, client: &mut Client, key: &Key) {
        match self {
            Self::Get | Self::GetOfNothing => drop(client.get(key).await),
            Self::Query => drop(
                client
                    .query(key.pk(), std::slice::from_ref(key), false)
                    .await,
            ),
            Self::Put => drop(client.put(key, If::Always, None).await),
            Self::PutIfAbsent | Self::PutThatIsRefused => {
                drop(client.put(key, If::Absent, None).await);
            }
            Self::PutIfVersion => drop(client.put(key, client.on_seen(key, false), None).await),
            Self::PutIfEtag => drop(client.put(key, client.on_seen(key, true), None).await),
            Self::Delete => drop(client.delete(key, If::Always).await),
            Self::DeleteIfEtag => drop(client.delete(key, client.on_seen(key, true)).await),
            Self::IncrementOfNothing | Self::Increment | Self::IncrementOfAnExpiredOne => {
                drop(client.increment(key, 1, None).await);
            }
        }
    }

    /// Looks at what is there then, in as many ways as there are.
    async fn look(client: &mut Client, key: &Key) {
        if matches!(client.get(key).await, Ok(Some(_))) {
            drop(client.put(key, client.on_seen(key, true), None).await);
            drop(
                client
                    .query(key.pk(), std::slice::from_ref(key), true)
                    .await,
            );
        }
        drop(client.increment(key, 0, None).await);
        drop(client.increment(key, 1, None).await);
    }
}

/// A share of the operations, under every fault.
pub(super) async fn matrix(site: &Site<dyn DocumentStore>, seed: u64, share: Share) -> Tally {
    let journal = Journal::new(site.fixture.clock.clone(), seed);
    let shared = Shared::new(site.fixture.store.clone(), journal);
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
    site: &Site<dyn DocumentStore>,
    shared: &Arc<Shared>,
    fault: Fault,
    trial: Trial,
    after: usize,
) -> bool {
    let what = format!("{trial:?} with {fault:?} after {after} requests");
    let mut client = Client::new(shared, 0);
    // A partition of its own: the query is of all of it.
    let pk = shared.journal.data_of(shared.journal.new_write());
    let key = Key::new(pk, &*what).expect("legal");
    let prepared = sickness(async || trial.prepare(&mut client, &key).await);
    if let Some(error) = prepared.await {
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
    let calls = (0..4).map(|_| sickness(async || shared.store.get(&key).await));
    let sick: Vec<_> = join_all(calls).await.into_iter().flatten().collect();
    if let Some(error) = sick.first() {
        let shown = format!("after {what}: {error:?}");
        shared.journal.violation(Anomaly::Unhealthy, shown).await;
        return false;
    }
    Trial::look(&mut client, &key).await;
    true
}
