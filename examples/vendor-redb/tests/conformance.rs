//! The conformance suite on redb: every clause of both contracts, none softened.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use redb::Database;
use redb::backends::InMemoryBackend;
use storetest::torture::kills::{KillHarness, Stores};
use storetest::{Fixture, Harness};
use vendor_redb::{BACKEND, RedbStore};

#[derive(Debug)]
struct RedbHarness;

/// A database in memory: all of redb but the syncing of a file. No case can observe that, and a disk
/// that syncs a few hundred times a second would make a long wait of the suite's many single writes.
/// `tests/file.rs` has what only a file can show.
async fn open(clock: &ManualClock) -> Arc<RedbStore> {
    let database = Database::builder().create_with_backend(InMemoryBackend::new());
    let store = RedbStore::from_database(database.unwrap()).await.unwrap();
    Arc::new(store.with_clock(clock.clone()))
}

/// The version of redb that this was built with, which redb itself does not tell: the lock file's.
fn redb_version() -> &'static str {
    let package = include_str!("../Cargo.lock")
        .split("name = \"redb\"\n")
        .nth(1);
    let version = package.and_then(|package| package.split('"').nth(1));
    version.expect("redb is in the lock file")
}

#[async_trait]
impl Harness for RedbHarness {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    async fn engine(&self) -> String {
        format!("redb {}", redb_version())
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(open(&clock).await, clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        Fixture::new(open(&clock).await, clock)
    }
}

#[async_trait]
impl KillHarness for RedbHarness {
    async fn open_in(&self, folder: &Path) -> Stores {
        let store = RedbStore::open(folder.join("changestore.redb")).await;
        Stores::of(Arc::new(store.unwrap()))
    }
}

storetest::change_store_tests!(crate::RedbHarness);
storetest::document_store_tests!(crate::RedbHarness);
storetest::torture_tests!(crate::RedbHarness);
storetest::kill_tests!(crate::RedbHarness);
