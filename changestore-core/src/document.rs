//! Records under a partition key and a sort key: the [`DocumentStore`] contract.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, TryStreamExt};

use crate::clock::Timestamp;
use crate::condition::{Condition, Etag, Version};
use crate::error::{Error, ErrorKind, Result};
use crate::key::Key;
use crate::limits;
use crate::query::QueryOptions;

/// The records of a query, in order, read page by page. An error is its last item.
pub type RecordStream = BoxStream<'static, Result<Record>>;

/// Records and counters under `(pk, sk)`: the portable intersection of serverless document stores.
///
/// Deliberately absent: transactions and secondary indexes. Compose conditional puts instead of the
/// former, and keep explicit index items (such as a `STATUS#open` partition) instead of the latter,
/// with the record itself as the truth from which they can be repaired.
///
/// - **Expired is absent**: a record or counter whose `expire_at` is at or before now, by the
///   adapter's [clock](crate::Clock), does not exist for any operation, at once. A put finds nothing
///   there and starts again at version 1, an increment starts at its delta. Garbage is collected
///   later, no sooner than a [day](crate::limits::GARBAGE_GRACE) after it expired: a clock that is set
///   back shows again what it had hidden and nobody has replaced.
/// - **A counter and a record never share a key**: the second kind to reach a live key is told
///   [`WrongKind`](ErrorKind::WrongKind), whatever its condition. Get, query and delete do not see
///   counters.
/// - **Versions** have no gaps and no repeats while a record lives; the **etag** is unique to one
///   write for ever.
///
/// What holds for both contracts stands at [`ChangeStore`](crate::ChangeStore).
#[async_trait]
pub trait DocumentStore: fmt::Debug + Send + Sync + 'static {
    /// The record at the key.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if there is none (a counter is none).
    async fn get(&self, key: &Key) -> Result<Record>;

    /// Writes a record if the condition holds, and returns it as stored: with the previous version
    /// plus 1, or 1 where there was none, and a new etag.
    ///
    /// The whole record is replaced, `expire_at` included (none means that it does not expire). One
    /// that is expired already is written and is absent at once.
    ///
    /// # Errors
    /// [`ConditionFailed`](ErrorKind::ConditionFailed), also when a version or etag was asked for and
    /// nothing is there; [`WrongKind`](ErrorKind::WrongKind) at a live counter. Nothing changed then.
    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record>;

    /// Removes the record at the key if the condition holds.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if there is none, whatever the condition (a counter is none);
    /// [`ConditionFailed`](ErrorKind::ConditionFailed) at another version or etag;
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `condition` for if-absent, before any I/O.
    async fn delete(&self, key: &Key, condition: Condition) -> Result<()>;

    /// The records of a partition whose sort key starts with `sk_prefix`, in the order of the sort
    /// keys' bytes; the empty prefix asks for the whole partition.
    ///
    /// Records that nobody touches during the scan appear exactly once; those that are written
    /// meanwhile may or may not. Expired ones never appear and never count towards the limit, which
    /// is sent to the server. One page is in memory at a time; dropping the stream early is fine.
    ///
    /// # Errors
    /// As the stream's last item: [`TooLarge`](ErrorKind::TooLarge) or
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `pk`, `sk_prefix` or `start_after`
    /// ([`QueryPlan::new`](crate::QueryPlan::new) checks them), and those of the backend.
    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream;

    /// Adds to the counter at the key, atomically, and returns the new value. An absent or expired
    /// counter starts at `delta`.
    ///
    /// A given `expire_at` becomes the counter's; none leaves the one it has. A `delta` of 0 reads
    /// the counter (and creates it where there is none).
    ///
    /// The call is never applied twice: after an ambiguous failure it is reported as
    /// [unknown](crate::Outcome::Unknown) and not sent again.
    ///
    /// # Errors
    /// [`WrongKind`](ErrorKind::WrongKind) at a live record;
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `delta` if the sum is outside of `i64`.
    /// Nothing changed then.
    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64>;
}

/// A record to be [put](DocumentStore::put).
///
/// `Debug` prints the length of the data and not the data.
#[derive(Clone, PartialEq, Eq)]
pub struct NewRecord {
    key: Key,
    data: Bytes,
    expire_at: Option<Timestamp>,
}

impl NewRecord {
    /// A record that does not expire. The data are bytes of the caller's, and may be empty.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) of `data` over 384 KiB.
    pub fn new(key: Key, data: impl Into<Bytes>) -> Result<Self> {
        let data = data.into();
        limits::DATA.check_len(data.len())?;
        Ok(Self {
            key,
            data,
            expire_at: None,
        })
    }

    /// Sets when it expires.
    #[must_use]
    pub fn with_expire_at(mut self, expire_at: impl Into<Option<Timestamp>>) -> Self {
        self.expire_at = expire_at.into();
        self
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The data.
    #[must_use]
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// When it expires.
    #[must_use]
    pub fn expire_at(&self) -> Option<Timestamp> {
        self.expire_at
    }

    /// The record as it is stored by a write of this version and etag.
    #[must_use]
    pub fn into_record(self, version: Version, etag: Etag) -> Record {
        let Self {
            key,
            data,
            expire_at,
        } = self;
        Record {
            key,
            data,
            version,
            etag,
            expire_at,
        }
    }
}

impl fmt::Debug for NewRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewRecord")
            .field("key", &self.key)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .field("expire_at", &self.expire_at)
            .finish()
    }
}

/// A record as it is stored.
///
/// `Debug` prints the length of the data and not the data.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it is.
    pub key: Key,
    /// The caller's bytes.
    pub data: Bytes,
    /// 1 for the first write, one more for each following one.
    pub version: Version,
    /// Unique to the write that stored this.
    pub etag: Etag,
    /// From when on it is absent.
    pub expire_at: Option<Timestamp>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", &self.key)
            .field("data", &format_args!("{} bytes", self.data.len()))
            .field("version", &self.version)
            .field("etag", &self.etag)
            .field("expire_at", &self.expire_at)
            .finish()
    }
}

/// Conveniences on every [`DocumentStore`].
#[async_trait]
pub trait DocumentStoreExt: DocumentStore {
    /// The record at the key, or none.
    ///
    /// # Errors
    /// Those of [`get`](DocumentStore::get) but not found.
    async fn find(&self, key: &Key) -> Result<Option<Record>> {
        match self.get(key).await {
            Ok(record) => Ok(Some(record)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All records of a [query](DocumentStore::query) at once. Mind the memory.
    ///
    /// # Errors
    /// Those of the query.
    async fn query_all(
        &self,
        pk: &str,
        sk_prefix: &str,
        options: QueryOptions,
    ) -> Result<Vec<Record>> {
        self.query(pk, sk_prefix, options).try_collect().await
    }

    /// Replaces the record at the key by what `change` makes of it: compare-and-set by etag, again
    /// with what is there as long as others come first. `change` may run more than once; if it
    /// returns none, nothing is written, and that is what is returned.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `key` if the record that `change` returns
    /// has another key; what `change` returns, and those of [`get`](DocumentStore::get) and
    /// [`put`](DocumentStore::put).
    async fn update<F>(&self, key: &Key, mut change: F) -> Result<Option<Record>>
    where
        F: FnMut(Option<&Record>) -> Result<Option<NewRecord>> + Send,
    {
        loop {
            let stored = self.find(key).await?;
            let Some(record) = change(stored.as_ref())? else {
                return Ok(None);
            };
            if record.key() != key {
                let reason = format!("the changed record has the key {}", record.key());
                return Err(Error::invalid_argument("key", reason).with_key(key));
            }
            let condition = match stored {
                Some(stored) => Condition::IfEtag(stored.etag),
                None => Condition::IfAbsent,
            };
            match self.put(record, condition).await {
                Ok(written) => return Ok(Some(written)),
                Err(error) if *error.kind() == ErrorKind::ConditionFailed => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<S: DocumentStore + ?Sized> DocumentStoreExt for S {}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        impl<S: DocumentStore + ?Sized> DocumentStore for $pointer<S> {
            async fn get(&self, key: &Key) -> Result<Record> {
                (**self).get(key).await
            }

            async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
                (**self).put(record, condition).await
            }

            async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
                (**self).delete(key, condition).await
            }

            fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
                (**self).query(pk, sk_prefix, options)
            }

            async fn increment(
                &self,
                key: &Key,
                delta: i64,
                expire_at: Option<Timestamp>,
            ) -> Result<i64> {
                (**self).increment(key, delta, expire_at).await
            }
        }
    )*};
}

forward!(Arc, Box);
