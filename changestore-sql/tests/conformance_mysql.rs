//! Every clause of both contracts on MySQL or MariaDB: tables of its own per case, in the database of the URL.

use std::env;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use changestore_sql::{MySqlOptions, MySqlStore};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, raw_sql};
use storetest::torture::faults::{NetworkHarness, Route};
use storetest::{Fixture, Harness};

#[derive(Debug)]
struct MySqlHarness;

/// A case's tables, to be dropped after it.
struct Tables {
    store: Arc<MySqlStore>,
    prefix: String,
}

impl MySqlHarness {
    fn url() -> String {
        env::var("CHANGESTORE_MYSQL_URL")
            .expect("CHANGESTORE_MYSQL_URL names a database of a server that may be used for tests")
    }

    /// The server's `host:port` in its URL.
    fn address() -> String {
        let url = Self::url();
        let rest = url.split_once("://").expect("a URL").1;
        let authority = rest.split(['/', '?']).next().expect("some");
        authority.rsplit('@').next().expect("some").to_owned()
    }

    async fn open(clock: &ManualClock, route: Option<Route>) -> Tables {
        static CASES: AtomicUsize = AtomicUsize::new(0);
        let case = CASES.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("case_{:x}_{case}_", process::id());
        let options = MySqlOptions::new(&Self::url())
            .unwrap()
            .with_table_prefix(&prefix)
            .unwrap()
            .with_clock(clock.clone());
        MySqlStore::migrate_with(options.clone()).await.unwrap();
        let options = match route {
            None => options,
            Some(route) => {
                let url = Self::url().replace(&Self::address(), &route.address.to_string());
                MySqlOptions::new(&url)
                    .unwrap()
                    .with_table_prefix(&prefix)
                    .unwrap()
                    .with_clock(clock.clone())
                    .with_operation_timeout(route.patience)
            }
        };
        let store = MySqlStore::open_with(options).await.unwrap();
        Tables {
            store: Arc::new(store),
            prefix,
        }
    }
}

impl Tables {
    async fn drop(self) {
        let Self { store, prefix } = self;
        store.close().await;
        let mut connection = MySqlConnection::connect(&MySqlHarness::url())
            .await
            .unwrap();
        let drop = format!("DROP TABLE {prefix}claims, {prefix}documents, {prefix}migrations");
        raw_sql(AssertSqlSafe(drop))
            .execute(&mut connection)
            .await
            .unwrap();
    }
}

#[async_trait]
impl Harness for MySqlHarness {
    fn backend(&self) -> &'static str {
        "mysql"
    }

    async fn engine(&self) -> String {
        let mut connection = MySqlConnection::connect(&Self::url()).await.unwrap();
        let version: String = sqlx::query_scalar("SELECT VERSION()")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        match version.split_once("-MariaDB") {
            Some((version, _)) => format!("MariaDB {version}"),
            None => format!("MySQL {version}"),
        }
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let tables = Self::open(&clock, None).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(tables.drop())
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let tables = Self::open(&clock, None).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(tables.drop())
    }
}

#[async_trait]
impl NetworkHarness for MySqlHarness {
    fn server(&self) -> String {
        Self::address()
    }

    async fn changes_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn ChangeStore> {
        let tables = Self::open(&clock, Some(route)).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(tables.drop())
    }

    async fn documents_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn DocumentStore> {
        let tables = Self::open(&clock, Some(route)).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(tables.drop())
    }
}

storetest::change_store_tests!(
    crate::MySqlHarness,
    #[ignore = "needs MySQL or MariaDB; run cargo xtask conformance"]
);
storetest::document_store_tests!(
    crate::MySqlHarness,
    #[ignore = "needs MySQL or MariaDB; run cargo xtask conformance"]
);
storetest::torture_tests!(
    crate::MySqlHarness,
    #[ignore = "needs MySQL or MariaDB; run cargo xtask conformance"]
);
storetest::fault_tests!(
    crate::MySqlHarness,
    #[ignore = "needs MySQL or MariaDB; run cargo xtask conformance"]
);
