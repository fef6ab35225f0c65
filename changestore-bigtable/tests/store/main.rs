//! What Bigtable adds to the contracts: lost replies, broken streams, round trips, tokens, words of errors.
//!
//! What needs a server is given one by `CHANGESTORE_BIGTABLE_URL`, and is ignored unless it is asked for.

mod corruption;
mod counters;
mod dependencies;
mod errors;
mod killed;
mod lost_replies;
mod races;
mod round_trips;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod throttling;
mod transport;

use std::time::Duration;

use changestore_bigtable::{BigtableBuilder, BigtableStore};
use changestore_core::{
    ChangeKey, ChangeRecord, Clock as _, DocumentStore as _, Key, ManualClock, Metadata, NewRecord,
    Timestamp,
};
use support::proxy::Proxy;

/// A store in a new table behind a proxy, and its clock.
struct Site {
    store: BigtableStore,
    proxy: Proxy,
    clock: ManualClock,
}

impl Site {
    async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    async fn with(set: impl FnOnce(BigtableBuilder) -> BigtableBuilder) -> Self {
        let proxy = Proxy::before(&support::url()).await;
        // Ahead of the server's, which collects what has been dead for a day.
        let clock = ManualClock::new(Timestamp::from_millis(4_000_000_000_000).unwrap());
        let builder =
            support::builder(proxy.address(), &support::new_table()).with_clock(clock.clone());
        let store = set(builder).connect().unwrap();
        store.create_table().await.unwrap();
        proxy.seen();
        Self {
            store,
            proxy,
            clock,
        }
    }

    /// Another store of the same table and behind the same proxy, as another process has one.
    fn another(&self) -> BigtableStore {
        let table = self.store.table().rsplit('/').next().unwrap();
        support::builder(self.proxy.address(), table)
            .with_clock(self.clock.clone())
            .connect()
            .unwrap()
    }

    /// The same table without the proxy.
    fn direct(&self) -> BigtableStore {
        let table = self.store.table().rsplit('/').next().unwrap();
        support::builder(&support::url(), table)
            .with_clock(self.clock.clone())
            .connect()
            .unwrap()
    }

    /// A time of the store's clock that is still to come.
    fn clock_after(&self, millis: u64) -> Timestamp {
        self.clock
            .now()
            .saturating_add(Duration::from_millis(millis))
    }

    /// The counter's value.
    async fn count(&self) -> i64 {
        self.store.increment(&key("n"), 0, None).await.unwrap()
    }
}

fn key(sk: &str) -> Key {
    Key::new("partition", sk).unwrap()
}

fn record(sk: &str, data: &str) -> NewRecord {
    NewRecord::new(key(sk), data.to_owned()).unwrap()
}

fn claim(request: &str) -> ChangeRecord {
    let key = ChangeKey::new("queue", "uri", request).unwrap();
    ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH)
}
