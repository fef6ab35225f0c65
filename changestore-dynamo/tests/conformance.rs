//! Every clause of both contracts on a server of DynamoDB's API: a table of its own per case.

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use changestore_dynamo::DynamoStore;
use storetest::torture::faults::{Answers, NetworkHarness, Route};
use storetest::{Fixture, Harness};

/// No case is about time: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
struct DynamoHarness;

/// A store in a new table, and what drops the table again.
async fn open(
    clock: &ManualClock,
    route: Option<Route>,
) -> (Arc<DynamoStore>, impl Future<Output = ()> + Send + use<>) {
    let client = support::client(&support::url());
    let table = support::new_table();
    let builder = |client| {
        DynamoStore::builder(client)
            .with_table(&table)
            .with_clock(clock.clone())
            // Cases run side by side, and a server in JavaScript is one thread for all of them.
            .with_attempt_timeout(PATIENCE)
            .with_operation_timeout(2 * PATIENCE)
    };
    let mut store = builder(client.clone()).build().unwrap();
    store.create_table().await.unwrap();
    if let Some(route) = route {
        store = builder(support::client(&format!("http://{}", route.address)))
            .with_attempt_timeout(route.patience / 2)
            .with_operation_timeout(route.patience)
            .build()
            .unwrap();
    }
    let cleanup = async move {
        client
            .delete_table()
            .table_name(table)
            .send()
            .await
            .unwrap();
    };
    (Arc::new(store), cleanup)
}

#[async_trait]
impl Harness for DynamoHarness {
    fn backend(&self) -> &'static str {
        "dynamodb"
    }

    async fn engine(&self) -> String {
        support::engine().await
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
impl NetworkHarness for DynamoHarness {
    fn server(&self) -> String {
        let url = support::url();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        address.to_owned()
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

    fn answers(&self) -> Option<Answers> {
        let throttled = "ProvisionedThroughputExceededException";
        Some(Answers {
            throttled: support::proxy::error(400, throttled, "slow down"),
            failed: support::proxy::error(500, "InternalServerError", "it may have happened"),
        })
    }
}

storetest::change_store_tests!(
    crate::DynamoHarness,
    #[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask conformance"]
);
storetest::document_store_tests!(
    crate::DynamoHarness,
    #[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask conformance"]
);
storetest::torture_tests!(
    crate::DynamoHarness,
    #[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask conformance"]
);
storetest::fault_tests!(
    crate::DynamoHarness,
    #[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask conformance"]
);
