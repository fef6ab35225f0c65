//! Every clause of both contracts on a server of Bigtable's API: a table of its own per case.

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use changestore_bigtable::BigtableStore;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use storetest::torture::faults::{NetworkHarness, Route};
use storetest::{Fixture, Harness};

/// No case is about time: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
struct BigtableHarness;

/// A store in a new table, and what drops the table again.
async fn open(
    clock: &ManualClock,
    route: Option<Route>,
) -> (Arc<BigtableStore>, impl Future<Output = ()> + Send + use<>) {
    let table = support::new_table();
    let mut store = support::builder(&support::url(), &table)
        .with_clock(clock.clone())
        .with_attempt_timeout(PATIENCE)
        .with_operation_timeout(2 * PATIENCE)
        .connect()
        .unwrap();
    store.create_table().await.unwrap();
    let name = store.table().to_owned();
    // Cases set the store's clock to 1970 and what not; what is garbage the server decides by its own.
    support::collect_nothing(&name).await;
    if let Some(route) = route {
        store = support::builder(&route.address.to_string(), &table)
            .with_clock(clock.clone())
            .with_attempt_timeout(route.patience / 2)
            .with_operation_timeout(route.patience)
            .connect()
            .unwrap();
    }
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
        let (store, cleanup) = open(&clock, None).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(cleanup)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let (store, cleanup) = open(&clock, None).await;
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(cleanup)
    }
}

#[async_trait]
impl NetworkHarness for BigtableHarness {
    fn server(&self) -> String {
        support::url()
    }

    async fn changes_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn ChangeStore> {
        let (store, cleanup) = open(&clock, Some(route)).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(cleanup)
    }

    async fn documents_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn DocumentStore> {
        let (store, cleanup) = open(&clock, Some(route)).await;
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
storetest::torture_tests!(
    crate::BigtableHarness,
    #[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask conformance"]
);
storetest::fault_tests!(
    crate::BigtableHarness,
    #[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask conformance"]
);
