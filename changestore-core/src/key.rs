//! Keys: validated once, then the exact bytes everywhere.
//!
//! Two keys are the same if their UTF-8 bytes are: `Bug`, `bug`, `bug ` (with a space) and
//! `bu\u{301}g` are four. They are ordered by those bytes: not as UTF-16, where U+1F600 comes before
//! U+E000, and not by a locale. `%`, `_`, `\`, `*`, `'`, spaces and any Unicode are ordinary
//! characters; only NUL and the empty text are refused. [`crate::limits`] has the lengths.

use std::fmt;

use crate::error::Result;
use crate::limits;

/// The immutable identity of a claim: a queue, the URI of a change, and the request that claims it.
///
/// The queue leads the key in every backend, so each read is one queue's range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeKey {
    queue: String,
    uri: String,
    request_id: String,
}

impl ChangeKey {
    /// Checks the three parts.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `queue`, `uri` or `request_id`.
    pub fn new(
        queue: impl Into<String>,
        uri: impl Into<String>,
        request_id: impl Into<String>,
    ) -> Result<Self> {
        let (queue, uri, request_id) = (queue.into(), uri.into(), request_id.into());
        Self::check_uri(&queue, &uri)?;
        limits::REQUEST_ID.check_key_part(&request_id)?;
        Ok(Self {
            queue,
            uri,
            request_id,
        })
    }

    /// Checks a queue and a URI: what [`get_by_uri`](crate::ChangeStore::get_by_uri) is asked for.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn check_uri(queue: &str, uri: &str) -> Result<()> {
        limits::QUEUE.check_key_part(queue)?;
        limits::URI.check_key_part(uri)
    }

    /// The merge queue.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// The claimed change, such as `github://github.com/o/r/pull/7/3f…`.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The land request that claims it.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }
}

impl fmt::Display for ChangeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "({:?}, {:?}, {:?})",
            self.queue, self.uri, self.request_id
        )
    }
}

/// The key of a record or counter: a partition key and a sort key within it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pk: String,
    sk: String,
}

impl Key {
    /// Checks both parts.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `pk` or `sk`.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Result<Self> {
        let (pk, sk) = (pk.into(), sk.into());
        limits::PARTITION_KEY.check_key_part(&pk)?;
        limits::SORT_KEY.check_key_part(&sk)?;
        Ok(Self { pk, sk })
    }

    /// The partition key.
    #[must_use]
    pub fn pk(&self) -> &str {
        &self.pk
    }

    /// The sort key.
    #[must_use]
    pub fn sk(&self) -> &str {
        &self.sk
    }

    /// Both parts, without a copy.
    #[must_use]
    pub fn into_parts(self) -> (String, String) {
        (self.pk, self.sk)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.pk, self.sk)
    }
}
