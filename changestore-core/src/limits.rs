//! The one table of portable limits.
//!
//! Every length is in **bytes of UTF-8** and is checked before any I/O, so what one backend accepts
//! every backend accepts. The numbers are the largest that fit all of them at once:
//!
//! | backend | what binds |
//! |---|---|
//! | DynamoDB | sort key 1,024 bytes, item 400 KB |
//! | MySQL and MariaDB | an InnoDB index entry of 3,072 bytes |
//! | PostgreSQL | an index entry of 2,704 bytes |
//! | Bigtable | a row key of 4 KiB |
//!
//! Two rules hold for each part of a key beside its length: it is not empty, and it holds no NUL
//! (SQLite, PostgreSQL and composite encodings cannot carry one safely). Every other character is
//! ordinary. [`crate::key`] says how keys compare.

use std::time::Duration;

use crate::error::{Error, Result};

/// How long one field may be.
///
/// ```
/// use changestore_core::limits;
///
/// assert!(limits::QUEUE.check_key_part("my-queue").is_ok());
/// let error = limits::QUEUE.check_key_part(&"q".repeat(256)).unwrap_err();
/// assert_eq!(error.to_string(), "queue is too large: 256 bytes, at most 255 are allowed");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    field: &'static str,
    max_bytes: usize,
}

/// The queue of a claim: 255 bytes.
pub const QUEUE: Limit = Limit::new("queue", 255);
/// The URI of a claimed change: 768 bytes.
pub const URI: Limit = Limit::new("uri", 768);
/// The land request that claims: 255 bytes.
pub const REQUEST_ID: Limit = Limit::new("request_id", 255);
/// The metadata of a claim: 384 KiB.
pub const METADATA: Limit = Limit::new("metadata", 384 * 1024);
/// The partition key of a record: 1,024 bytes.
pub const PARTITION_KEY: Limit = Limit::new("pk", 1024);
/// The sort key of a record: 1,024 bytes.
pub const SORT_KEY: Limit = Limit::new("sk", 1024);
/// The data of a record: 384 KiB.
pub const DATA: Limit = Limit::new("data", 384 * 1024);

/// The sort-key prefix of a query can be no longer than a sort key.
pub(crate) const SORT_KEY_PREFIX: Limit = Limit::new("sk_prefix", SORT_KEY.max_bytes);
/// So can the sort key after which a query starts.
pub(crate) const START_AFTER: Limit = Limit::new("start_after", SORT_KEY.max_bytes);

/// All limits of stored fields, in the order of the contract.
pub const ALL: [Limit; 7] = [
    QUEUE,
    URI,
    REQUEST_ID,
    METADATA,
    PARTITION_KEY,
    SORT_KEY,
    DATA,
];

/// How long an adapter keeps what has expired before it may delete it: a day.
///
/// Expired is absent at once; only the garbage stays. So a clock that lags, or is set back by less
/// than a day, finds the same records on every backend, whatever has been collected meanwhile.
pub const GARBAGE_GRACE: Duration = Duration::from_hours(24);

impl Limit {
    const fn new(field: &'static str, max_bytes: usize) -> Self {
        Self { field, max_bytes }
    }

    /// The field's name, as errors print it.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The greatest legal length in bytes.
    #[must_use]
    pub const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Refuses a length over the limit.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) with the field, the limit and the length.
    pub fn check_len(&self, bytes: usize) -> Result<()> {
        if bytes > self.max_bytes {
            return Err(Error::too_large(self.field, self.max_bytes, bytes));
        }
        Ok(())
    }

    /// Refuses what no part of a key may be: empty, too long, or holding a NUL.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) with the field.
    pub fn check_key_part(&self, part: &str) -> Result<()> {
        if part.is_empty() {
            return Err(Error::invalid_argument(self.field, "must not be empty"));
        }
        self.check_prefix(part)
    }

    /// Refuses what no prefix of a key part may be: too long, or holding a NUL. Empty is fine.
    pub(crate) fn check_prefix(&self, part: &str) -> Result<()> {
        self.check_len(part.len())?;
        if let Some(at) = part.bytes().position(|byte| byte == 0) {
            return Err(Error::invalid_argument(
                self.field,
                format!("must not contain NUL (found at byte {at})"),
            ));
        }
        Ok(())
    }
}
