//! What DynamoDB adds to the contracts: lost replies, throttling, round trips, pages, words of errors.
//!
//! What needs a server is given one by `CHANGESTORE_DYNAMO_URL`, and is ignored unless it is asked for.

mod corruption;
mod dependencies;
mod errors;
mod lost_replies;
mod pages;
mod races;
mod round_trips;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod throttling;

use std::time::Duration;

use changestore_core::{
    ChangeKey, ChangeRecord, Clock as _, DocumentStore as _, Key, ManualClock, Metadata, NewRecord,
    Timestamp,
};
use changestore_dynamo::{DynamoBuilder, DynamoStore};
use support::proxy::Proxy;

/// A store in a new table behind a proxy, and its clock.
struct Site {
    store: DynamoStore,
    proxy: Proxy,
    clock: ManualClock,
}

impl Site {
    async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    async fn with(set: impl FnOnce(DynamoBuilder) -> DynamoBuilder) -> Self {
        let proxy = Proxy::before(&support::url()).await;
        let clock = ManualClock::new(Timestamp::from_millis(1_800_000_000_000).unwrap());
        let builder = DynamoStore::builder(support::client(proxy.url()))
            .with_table(support::new_table())
            .with_clock(clock.clone());
        let store = set(builder).build().unwrap();
        store.create_table().await.unwrap();
        proxy.seen();
        Self {
            store,
            proxy,
            clock,
        }
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
