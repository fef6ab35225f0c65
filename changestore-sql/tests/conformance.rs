//! Every clause of both contracts on SQLite: a file of its own per case.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use changestore_sql::{SqliteOptions, SqliteStore};
use storetest::torture::kills::{KillHarness, Stores};
use storetest::{Fixture, Harness};
use tempfile::TempDir;

#[derive(Debug)]
struct SqliteHarness;

impl SqliteHarness {
    async fn open(namespace: &str, clock: &ManualClock) -> (Arc<SqliteStore>, TempDir) {
        let folder = TempDir::with_prefix(namespace).unwrap();
        let path = folder.path().join("changestore.db");
        let options = SqliteOptions::new(path.to_str().unwrap())
            .unwrap()
            .with_clock(clock.clone());
        let store = SqliteStore::open_with(options).await.unwrap();
        (Arc::new(store), folder)
    }
}

#[async_trait]
impl Harness for SqliteHarness {
    fn backend(&self) -> &'static str {
        "sqlite"
    }

    async fn engine(&self) -> String {
        format!("SQLite {}", rusqlite::version())
    }

    async fn changes(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        let (store, folder) = Self::open(namespace, &clock).await;
        Fixture::new(store as Arc<dyn ChangeStore>, clock).with_guard(folder)
    }

    async fn documents(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        let (store, folder) = Self::open(namespace, &clock).await;
        Fixture::new(store as Arc<dyn DocumentStore>, clock).with_guard(folder)
    }
}

#[async_trait]
impl KillHarness for SqliteHarness {
    async fn open_in(&self, folder: &Path) -> Stores {
        let path = folder.join("changestore.db");
        let store = SqliteStore::open(path.to_str().unwrap()).await.unwrap();
        Stores::of(Arc::new(store))
    }
}

storetest::change_store_tests!(crate::SqliteHarness);
storetest::document_store_tests!(crate::SqliteHarness);
storetest::torture_tests!(crate::SqliteHarness);
storetest::kill_tests!(crate::SqliteHarness);
