//! Every clause of both contracts on PostgreSQL: a schema of its own per case.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use changestore_sql::{PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use storetest::torture::crashes::{Crash, CrashHarness};
use storetest::torture::faults::{NetworkHarness, Route};
use storetest::{Fixture, Harness};
use tokio::task::spawn_blocking;

const URL: &str = "CHANGESTORE_POSTGRES_URL";

#[derive(Debug)]
struct PostgresHarness;

fn url() -> String {
    env::var(URL).unwrap_or_else(|_| panic!("{URL} is not set; run cargo xtask conformance"))
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

/// The server's `host:port` in a URL.
fn address(url: &str) -> &str {
    let rest = url.split_once("://").expect("a URL").1;
    let authority = rest.split(['/', '?']).next().expect("some");
    authority.rsplit('@').next().expect("some")
}

/// A store in a new schema on that server, and what drops the schema again.
async fn open(
    url: &str,
    clock: &ManualClock,
    route: Option<Route>,
) -> (Arc<PostgresStore>, impl Future<Output = ()> + Send + use<>) {
    static CASES: AtomicUsize = AtomicUsize::new(0);
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (process, case) = (std::process::id(), CASES.fetch_add(1, Ordering::Relaxed));
    let schema = format!("case_{process}_{}_{case}", begun.as_millis());
    let options = PostgresOptions::new(url)
        .unwrap()
        .with_clock(clock.clone())
        // Cases run side by side, and a server has a hundred connections.
        .with_connections(4)
        .with_schema(&schema)
        .unwrap();
    PostgresStore::migrate_with(options.clone()).await.unwrap();
    let options = match route {
        None => options,
        Some(route) => {
            let over = url.replace(address(url), &route.address.to_string());
            PostgresOptions::new(&over)
                .unwrap()
                .with_clock(clock.clone())
                .with_connections(4)
                .with_schema(&schema)
                .unwrap()
                .with_operation_timeout(route.patience)
        }
    };
    let store = Arc::new(PostgresStore::open_with(options).await.unwrap());
    let (closing, url) = (Arc::clone(&store), url.to_owned());
    let cleanup = async move {
        closing.close().await;
        let drop = format!("DROP SCHEMA {schema} CASCADE");
        let mut connection = connect(&url).await;
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(drop)))
            .await
            .unwrap();
        connection.close().await.unwrap();
    };
    (store, cleanup)
}

#[async_trait]
impl Harness for PostgresHarness {
    fn backend(&self) -> &'static str {
        "postgres"
    }

    async fn engine(&self) -> String {
        let row = connect(&url())
            .await
            .fetch_one("SHOW server_version")
            .await
            .unwrap();
        format!("PostgreSQL {}", row.get::<String, _>(0))
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let (store, cleanup) = open(&url(), &clock, None).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(cleanup)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let (store, cleanup) = open(&url(), &clock, None).await;
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(cleanup)
    }
}

#[async_trait]
impl NetworkHarness for PostgresHarness {
    fn server(&self) -> String {
        address(&url()).to_owned()
    }

    async fn changes_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn ChangeStore> {
        let (store, cleanup) = open(&url(), &clock, Some(route)).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(cleanup)
    }

    async fn documents_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn DocumentStore> {
        let (store, cleanup) = open(&url(), &clock, Some(route)).await;
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(cleanup)
    }
}

/// A server of a test's own.
struct Killed(engines::Server);

#[async_trait]
impl Crash for Killed {
    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let (store, cleanup) = open(&self.0.url(), &clock, None).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(cleanup)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let (store, cleanup) = open(&self.0.url(), &clock, None).await;
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(cleanup)
    }

    fn crash(&self) {
        self.0.kill().unwrap();
        self.0.restart().unwrap();
    }
}

#[async_trait]
impl CrashHarness for PostgresHarness {
    async fn start(&self) -> Arc<dyn Crash> {
        let server = spawn_blocking(engines::postgres::start).await.unwrap();
        Arc::new(Killed(server.unwrap()))
    }
}

storetest::change_store_tests!(
    crate::PostgresHarness,
    #[ignore = "needs CHANGESTORE_POSTGRES_URL; run cargo xtask conformance"]
);
storetest::document_store_tests!(
    crate::PostgresHarness,
    #[ignore = "needs CHANGESTORE_POSTGRES_URL; run cargo xtask conformance"]
);
storetest::torture_tests!(
    crate::PostgresHarness,
    #[ignore = "needs CHANGESTORE_POSTGRES_URL; run cargo xtask conformance"]
);
storetest::fault_tests!(
    crate::PostgresHarness,
    #[ignore = "needs CHANGESTORE_POSTGRES_URL; run cargo xtask conformance"]
);
storetest::crash_tests!(
    crate::PostgresHarness,
    #[ignore = "needs PostgreSQL's programs; run cargo xtask conformance"]
);
