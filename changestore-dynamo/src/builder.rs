//! What a store is made from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use changestore_core::{Clock, Error, ErrorKind, Operation, Result, SystemClock};
use changestore_retry::{Retries, RetryPolicy};

use crate::store::{DynamoStore, Shared};
use crate::{BACKEND, DEFAULT_TABLE};

/// The longest name of a table; a table may also be given by its ARN.
const NAME_BYTES: usize = 255;
const ARN_BYTES: usize = 1024;

/// A store to be: the client, and what is not as usual. [`DynamoStore::builder`] makes one.
#[derive(Clone)]
#[must_use]
pub struct DynamoBuilder {
    client: Client,
    table: String,
    clock: Arc<dyn Clock>,
    policy: RetryPolicy,
}

impl DynamoBuilder {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            table: DEFAULT_TABLE.to_owned(),
            clock: Arc::new(SystemClock),
            policy: RetryPolicy::default(),
        }
    }

    /// The table: its name, or its ARN if it is another account's. Otherwise `changestore`.
    pub fn with_table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }

    /// The clock that decides what has expired. Otherwise the system's.
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How long one request may take before it is given up as lost. Otherwise 5 seconds.
    pub fn with_attempt_timeout(mut self, timeout: Duration) -> Self {
        self.policy.attempt_timeout = timeout;
        self
    }

    /// How long a call may take with all its requests and the pauses between them; of a query, each page.
    /// Otherwise 30 seconds.
    pub fn with_operation_timeout(mut self, timeout: Duration) -> Self {
        self.policy.operation_timeout = timeout;
        self
    }

    /// How many requests that fail (throttled, unreachable, lost) a call may make, at least 1. Otherwise 10.
    pub fn with_max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = attempts.max(1);
        self
    }

    /// Makes the store. Nothing is sent: whether the table is there is found out by the first call, or by
    /// [`DynamoStore::create_table`].
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) if the table's name cannot be one.
    pub fn build(self) -> Result<DynamoStore> {
        check_table_name(&self.table)?;
        // Calls have their own attempts, which know more than the SDK's (`attempts.rs`).
        let config = self
            .client
            .config()
            .to_builder()
            .retry_config(RetryConfig::disabled())
            .build();
        Ok(DynamoStore::new(Shared {
            client: Client::from_conf(config),
            table: self.table,
            clock: self.clock,
            retries: Retries::new(self.policy),
            returns_old_items: false.into(),
        }))
    }
}

/// Whether a table can have that name, or that ARN.
///
/// # Errors
/// [`Configuration`](ErrorKind::Configuration) if it cannot.
pub fn check_table_name(table: &str) -> Result<()> {
    let named = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
    let is_name = (3..=NAME_BYTES).contains(&table.len()) && table.chars().all(named);
    let is_arn = table.len() <= ARN_BYTES
        && table.starts_with("arn:")
        && table.chars().all(|char| named(char) || ":/".contains(char));
    if is_name || is_arn {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Configuration)
        .with_backend(BACKEND)
        .with_operation(Operation::Open)
        .with_message(
            "a table's name has 3 to 255 letters, digits, `_`, `-` and `.`, or it is a table's ARN",
        ))
}

/// Without the client, which has credentials.
impl fmt::Debug for DynamoBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoBuilder")
            .field("table", &self.table)
            .field("clock", &self.clock)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_arns_are_told_from_what_cannot_be_a_table() {
        let longest = "x".repeat(NAME_BYTES);
        for table in [
            "changestore",
            "a-b_c.9",
            &longest,
            "arn:aws:dynamodb:eu-central-1:123456789012:table/changestore",
        ] {
            check_table_name(table).unwrap();
        }
        let too_long = "x".repeat(NAME_BYTES + 1);
        for table in ["", "ab", "with space", "ümlaut", "a/b/c", &too_long] {
            let error = check_table_name(table).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration, "{table}");
        }
    }
}
