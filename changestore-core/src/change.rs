//! Which land request has claimed which change: the [`ChangeStore`] contract.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::condition::Version;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::key::ChangeKey;
use crate::metadata::Metadata;

/// Claims of change URIs by land requests, per queue.
///
/// A claim says: in this queue, this request wants to land this change (a URI, such as a pull request
/// at a commit). A merge queue's validate step reads the claims of each of a request's changes to
/// refuse a request of which another one in flight has claimed a change
/// ([`find_duplicate`](crate::find_duplicate)), and then claims them.
///
/// - **Identity is immutable**: a claim is its `(queue, uri, request_id)`. Claims of different
///   requests on one URI stand side by side.
/// - **The queue leads the key**, and there is no secondary index: every read is a range of one
///   queue's keys. `(a, b/c)` and `(a/b, c)` never meet.
/// - **Nothing deletes a claim**: the history stays for audit, and whether a claim still counts is
///   its request's state.
/// - **One claim per write**, idempotent; there are no batches. A caller loops over its URIs and
///   repeats the loop after a failure.
///
/// What holds for both contracts:
///
/// - **Read after write**: a read that starts after a write was acknowledged sees it.
/// - **Linearizable per key**: of any number of concurrent conditional writes on one version exactly
///   one wins.
/// - **Own retries never lie**: where an adapter resends a write whose reply was lost, the caller
///   is told what became of the write, or that it is [unknown](crate::Outcome::Unknown).
/// - **Cancellation**: dropping a future leaves no open transaction, no lock and no half write; the
///   write may have happened.
/// - **Limits** ([`crate::limits`]) are checked before any I/O.
#[async_trait]
pub trait ChangeStore: fmt::Debug + Send + Sync + 'static {
    /// Writes one claim, unless the same triple has been claimed before.
    ///
    /// The same triple again changes nothing and succeeds: the first write wins, its metadata, times
    /// and version included. Of concurrent creates of one triple exactly one says
    /// [`Created`](CreateOutcome::Created), and none fails.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `version` if the record's is not 1
    /// ([`ChangeRecord::check_new`]). Every failure is an error; "already there" is the only one that
    /// is not.
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome>;

    /// Every claim of exactly this URI in exactly this queue, in the order of the request ids (by
    /// their bytes); empty if there is none.
    ///
    /// Nothing is filtered by owner or state. A prefix of a URI is another URI.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) or [`InvalidArgument`](ErrorKind::InvalidArgument) of
    /// `queue` or `uri`; [`Corrupt`](ErrorKind::Corrupt).
    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>>;

    /// Sets a claim's metadata, version and time of update, if its version is still the old one.
    ///
    /// A pure conditional write: the caller owns the arithmetic, and the new version is whatever it
    /// says (usually `old.next()`). Writing the same metadata at the right version succeeds.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) without such a claim;
    /// [`VersionMismatch`](ErrorKind::VersionMismatch) with the stored version at any other;
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `new_version` if it is 0
    /// ([`MetadataUpdate::check`]).
    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()>;
}

/// A claim as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRecord {
    /// The immutable identity.
    pub key: ChangeKey,
    /// JSON text that others may enrich; `{}` where there is nothing yet.
    pub metadata: Metadata,
    /// When the claim was made, by the caller.
    pub created_at: Timestamp,
    /// When the metadata were last set, by the caller.
    pub updated_at: Timestamp,
    /// 1 when created.
    pub version: Version,
}

impl ChangeRecord {
    /// A new claim at version 1.
    #[must_use]
    pub fn new(key: ChangeKey, metadata: Metadata, created_at: Timestamp) -> Self {
        Self {
            key,
            metadata,
            created_at,
            updated_at: created_at,
            version: Version::FIRST,
        }
    }

    /// What every adapter's [`create`](ChangeStore::create) checks before any I/O.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `version` if it is not 1.
    pub fn check_new(&self) -> Result<()> {
        if self.version == Version::FIRST {
            return Ok(());
        }
        let reason = format!("a new claim has version 1, not {}", self.version);
        Err(Error::invalid_argument("version", reason)
            .with_operation(Operation::Create)
            .with_key(&self.key))
    }
}

/// What a [`create`](ChangeStore::create) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "whether the claim was new is half of the answer"]
pub enum CreateOutcome {
    /// The claim was written by this call.
    Created,
    /// The same triple was there before; it was left as it was.
    AlreadyThere,
}

/// What an [`update_metadata`](ChangeStore::update_metadata) sets, and from which version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataUpdate {
    /// The new metadata.
    pub metadata: Metadata,
    /// The version that must be stored.
    pub old_version: Version,
    /// The version to store.
    pub new_version: Version,
    /// The time to store.
    pub updated_at: Timestamp,
}

impl MetadataUpdate {
    /// What every adapter checks before any I/O.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) of `new_version` if it is 0, which stands for
    /// no record.
    pub fn check(&self) -> Result<()> {
        if self.new_version == Version::ABSENT {
            return Err(Error::invalid_argument("new_version", "must be at least 1")
                .with_operation(Operation::UpdateMetadata));
        }
        Ok(())
    }
}

/// Conveniences on every [`ChangeStore`].
#[async_trait]
pub trait ChangeStoreExt: ChangeStore {
    /// The claim of exactly this key, if there is one.
    ///
    /// # Errors
    /// Those of [`get_by_uri`](ChangeStore::get_by_uri).
    async fn find_claim(&self, key: &ChangeKey) -> Result<Option<ChangeRecord>> {
        let claims = self.get_by_uri(key.queue(), key.uri()).await?;
        Ok(claims.into_iter().find(|claim| claim.key == *key))
    }

    /// Sets a claim's metadata to what `change` makes of the stored ones, and adds one to its version.
    /// Reads again and repeats as long as others come first; returns the version written.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound), what `change` returns, and those of the two operations.
    async fn annotate<F>(
        &self,
        key: &ChangeKey,
        updated_at: Timestamp,
        mut change: F,
    ) -> Result<Version>
    where
        F: FnMut(&ChangeRecord) -> Result<Metadata> + Send,
    {
        loop {
            let Some(record) = self.find_claim(key).await? else {
                return Err(Error::new(ErrorKind::NotFound)
                    .with_operation(Operation::UpdateMetadata)
                    .with_key(key));
            };
            let update = MetadataUpdate {
                metadata: change(&record)?,
                old_version: record.version,
                new_version: record.version.next(),
                updated_at,
            };
            match self.update_metadata(key, update).await {
                Ok(()) => return Ok(record.version.next()),
                Err(error) if error.stored_version().is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<S: ChangeStore + ?Sized> ChangeStoreExt for S {}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        impl<S: ChangeStore + ?Sized> ChangeStore for $pointer<S> {
            async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
                (**self).create(record).await
            }

            async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
                (**self).get_by_uri(queue, uri).await
            }

            async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
                (**self).update_metadata(key, update).await
            }
        }
    )*};
}

forward!(Arc, Box);
