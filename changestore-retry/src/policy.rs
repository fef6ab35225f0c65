//! How long and how often calls try.

use std::time::Duration;

use tokio::time::Instant;

use crate::attempts::{Attempts, Resend};
use crate::deadlines::Deadlines;

/// How long and how often a call tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The longest that a request may take, and of a stream each message. 5 seconds, if nothing else is said.
    pub attempt_timeout: Duration,
    /// The longest that a call may take, with all its requests and the pauses between them. 30 seconds.
    pub operation_timeout: Duration,
    /// How many requests that fail a call may make, at least 1. 10.
    pub max_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempt_timeout: Duration::from_secs(5),
            operation_timeout: Duration::from_secs(30),
            max_attempts: 10,
        }
    }
}

/// What the calls of one store have in common: the policy.
#[derive(Debug)]
pub struct Retries {
    policy: RetryPolicy,
    pub(crate) deadlines: Deadlines,
}

impl Retries {
    /// For all calls of a store.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            deadlines: Deadlines::default(),
        }
    }

    /// How long and how often calls try.
    #[must_use]
    pub fn policy(&self) -> RetryPolicy {
        self.policy
    }

    /// The requests of one call, whose time begins now.
    #[must_use]
    pub fn attempts(&self, resend: Resend) -> Attempts<'_> {
        Attempts::new(self, resend)
    }
}

/// The time in so long; in a year at the latest, which is for ever here.
pub(crate) fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    Instant::now() + time.min(YEAR)
}
