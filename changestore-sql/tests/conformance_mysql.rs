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
use storetest::torture::crashes::{Crash, CrashHarness};
use storetest::torture::faults::{NetworkHarness, Route};
use storetest::{Fixture, Harness};
use tokio::task::spawn_blocking;

#[derive(Debug)]
struct MySqlHarness;

/// A case's tables, to be dropped after it.
struct Tables {
    store: Arc<MySqlStore>,
    url: String,
    prefix: String,
}

impl MySqlHarness {
    fn url() -> String {
        env::var("CHANGESTORE_MYSQL_URL")
            .expect("CHANGESTORE_MYSQL_URL names a database of a server that may be used for tests")
    }

    /// The server's `host:port` in its URL.
    fn address(url: &str) -> String {
        let rest = url.split_once("://").expect("a URL").1;
        let authority = rest.split(['/', '?']).next().expect("some");
        authority.rsplit('@').next().expect("some").to_owned()
    }

    async fn open(url: &str, clock: &ManualClock, route: Option<Route>) -> Tables {
        static CASES: AtomicUsize = AtomicUsize::new(0);
        let case = CASES.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("case_{:x}_{case}_", process::id());
        let options = MySqlOptions::new(url)
            .unwrap()
            .with_table_prefix(&prefix)
            .unwrap()
            .with_clock(clock.clone());
        MySqlStore::migrate_with(options.clone()).await.unwrap();
        let options = match route {
            None => options,
            Some(route) => {
                let over = url.replace(&Self::address(url), &route.address.to_string());
                MySqlOptions::new(&over)
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
            url: url.to_owned(),
            prefix,
        }
    }
}

impl Tables {
    async fn drop(self) {
        let Self { store, url, prefix } = self;
        store.close().await;
        let mut connection = MySqlConnection::connect(&url).await.unwrap();
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
        let tables = Self::open(&Self::url(), &clock, None).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(tables.drop())
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let tables = Self::open(&Self::url(), &clock, None).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(tables.drop())
    }
}

#[async_trait]
impl NetworkHarness for MySqlHarness {
    fn server(&self) -> String {
        Self::address(&Self::url())
    }

    async fn changes_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn ChangeStore> {
        let tables = Self::open(&Self::url(), &clock, Some(route)).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(tables.drop())
    }

    async fn documents_over(
        &self,
        route: Route,
        _namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn DocumentStore> {
        let tables = Self::open(&Self::url(), &clock, Some(route)).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(tables.drop())
    }
}

/// A server of a test's own.
struct Killed(engines::Server);

#[async_trait]
impl Crash for Killed {
    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let tables = MySqlHarness::open(&self.0.url(), &clock, None).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_cleanup(tables.drop())
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let tables = MySqlHarness::open(&self.0.url(), &clock, None).await;
        let store = Arc::clone(&tables.store);
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_cleanup(tables.drop())
    }

    fn crash(&self) {
        self.0.kill().unwrap();
        self.0.restart().unwrap();
    }
}

#[async_trait]
impl CrashHarness for MySqlHarness {
    async fn start(&self) -> Arc<dyn Crash> {
        // Without a binary log InnoDB shows what it has not synced yet; `changestore-sql/README.md` says so.
        let logged =
            || engines::mariadb::start_with(&[("log_bin", "binlog"), ("sync_binlog", "1")]);
        let server = spawn_blocking(logged).await.unwrap();
        Arc::new(Killed(server.unwrap()))
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
storetest::crash_tests!(
    crate::MySqlHarness,
    #[ignore = "needs MariaDB's programs; run cargo xtask conformance"]
);
