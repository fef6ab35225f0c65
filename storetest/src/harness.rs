//! What a backend brings: a fresh, empty store per case, with a clock that the case steps.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};
use futures::future::BoxFuture;

/// Opens a backend for the suite.
///
/// Cases run side by side, also against one server: each asks for a namespace of its own, and must
/// not see another's records. A harness whose server is not there panics; it never skips.
#[async_trait]
pub trait Harness: fmt::Debug + Send + Sync + 'static {
    /// The backend's name in reports, such as `sqlite`.
    fn backend(&self) -> &'static str;

    /// What runs behind it, with its version, such as `SQLite 3.50.2`.
    async fn engine(&self) -> String;

    /// An empty [`ChangeStore`] of its own.
    async fn changes(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn ChangeStore>;

    /// An empty [`DocumentStore`] of its own that takes the time from the clock.
    async fn documents(&self, namespace: &str, clock: ManualClock) -> Fixture<dyn DocumentStore>;
}

/// A store under test.
pub struct Fixture<S: ?Sized> {
    /// The store.
    pub store: Arc<S>,
    /// The store's clock.
    pub clock: ManualClock,
    // Behind the store: fields are dropped in this order.
    guard: Option<Box<dyn Any + Send + Sync>>,
    cleanup: Option<BoxFuture<'static, ()>>,
}

impl<S: ?Sized> Fixture<S> {
    /// A store, and the clock that was given to it.
    pub fn new(store: Arc<S>, clock: ManualClock) -> Self {
        Self {
            store,
            clock,
            guard: None,
            cleanup: None,
        }
    }

    /// Keeps a value as long as the case runs, such as a temporary folder.
    #[must_use]
    pub fn with_guard(mut self, guard: impl Any + Send + Sync) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// What to do after the case, whether it passed or not, such as dropping a table.
    #[must_use]
    pub fn with_cleanup(mut self, cleanup: impl Future<Output = ()> + Send + 'static) -> Self {
        self.cleanup = Some(Box::pin(cleanup));
        self
    }

    pub(crate) fn take_cleanup(&mut self) -> Option<BoxFuture<'static, ()>> {
        self.cleanup.take()
    }
}

impl<S: ?Sized + fmt::Debug> fmt::Debug for Fixture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
