//! The conformance suite and the torture tests on the store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use store_mem::{BACKEND, MemStore};
use storetest::{Fixture, Harness};

#[derive(Debug)]
struct MemHarness;

#[async_trait]
impl Harness for MemHarness {
    fn backend(&self) -> &'static str {
        BACKEND
    }

    async fn engine(&self) -> String {
        format!("store-mem {}", env!("CARGO_PKG_VERSION"))
    }

    async fn changes(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore> {
        Fixture::new(Arc::new(MemStore::with_clock(clock.clone())), clock)
    }

    async fn documents(&self, _namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore> {
        Fixture::new(Arc::new(MemStore::with_clock(clock.clone())), clock)
    }
}

storetest::change_store_tests!(crate::MemHarness);
storetest::document_store_tests!(crate::MemHarness);
storetest::torture_tests!(crate::MemHarness);
