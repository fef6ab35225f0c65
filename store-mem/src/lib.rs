#![doc = include_str!("../README.md")]

mod claims;
mod documents;
mod failure;

use std::fmt;
use std::sync::Arc;

use changestore_core::{Clock, Error, SystemClock};

use claims::Claims;
use documents::Documents;
use failure::Failures;

pub use failure::Failure;

/// The name of this backend in errors and reports.
pub const BACKEND: &str = "mem";

/// Both contracts in memory. Clones share one store, which is gone with the last of them.
#[derive(Clone)]
pub struct MemStore {
    shared: Arc<Shared>,
}

struct Shared {
    claims: Claims,
    documents: Documents,
    failures: Failures,
    clock: Box<dyn Clock>,
}

impl MemStore {
    /// An empty store on the system's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(SystemClock)
    }

    /// An empty store on this clock, such as a [`ManualClock`](changestore_core::ManualClock).
    #[must_use]
    pub fn with_clock(clock: impl Clock) -> Self {
        Self {
            shared: Arc::new(Shared {
                claims: Claims::default(),
                documents: Documents::default(),
                failures: Failures::default(),
                clock: Box::new(clock),
            }),
        }
    }
}

impl Default for MemStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemStore")
            .field("clock", &self.shared.clock)
            .finish_non_exhaustive()
    }
}

fn named(error: Error) -> Error {
    error.with_backend(BACKEND)
}
