//! What is the same in the options of every server engine.

use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Clock, SystemClock};

/// How a store uses its server.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Decides what has expired.
    pub(crate) clock: Arc<dyn Clock>,
    /// At most so many connections at a time.
    pub(crate) connections: usize,
    /// For how long an operation may take in all: waiting for a connection, conflicts with others, and the
    /// statement itself.
    pub(crate) operation_timeout: Duration,
    /// For how long an operation may wait for a server that cannot be reached.
    pub(crate) connect_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            connections: 10,
            operation_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
        }
    }
}
