//! Every clause of both contracts on a server of Bigtable's API: a table of its own per case.

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use changestore_bigtable::BigtableStore;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use storetest::{Fixture, Harness};

/// No case is about time: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
struct BigtableHarness;

/// A store in a new table, and what drops the table again.
async fn open(
    clock: &ManualClock,
) -> (Arc<BigtableStore>, impl Future<Output = ()> + Send + use<>) {
    let store = support::builder(&support::url(), &support::new_table())
        .with_clock(clock.clone())
        .with_attempt_timeout(PATIENCE)
        .with_operation_timeout(2 * PATIENCE)
        .connect()
        .unwrap();
    store.create_table().await.unwrap();
    let name = store.table().to_owned();
    // Cases set the store's clock to 1970 and what not; what is garbage the server decides by its own.
    support::collect_nothing(&name).await;
    (Arc::new(store), async move {
        support::drop_table(&name).await;
    })
}

#[async_trait]
impl Harness for BigtableHarness {
    fn backend(&self) -> &'static str {
        "bigtable"
    }

    async fn engine(&self) -> String {
        "Bigtable emulator".to_owned()
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let (store, cleanup) = open(&clock).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(cleanup)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let (store, cleanup) = open(&clock).await;
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(cleanup)
    }
}

storetest::change_store_tests!(
    crate::BigtableHarness,
    #[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask conformance"]
);
storetest::document_store_tests!(
    crate::BigtableHarness,
    #[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask conformance"]
);
