//! The validate step of a merge queue: has another request in flight claimed one of these changes?

use std::collections::HashSet;
use std::fmt;

use async_trait::async_trait;

use crate::change::{ChangeRecord, ChangeStore};
use crate::error::Result;

/// Whether a request's claims still count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestState {
    /// In flight: its claims count.
    Live,
    /// Landed, failed, refused or cancelled: its claims are history.
    Terminal,
    /// Nobody knows the request: its claims do not count.
    Unknown,
}

/// Knows the state of land requests. The caller's: usually its store of requests.
#[async_trait]
pub trait Liveness: fmt::Debug + Send + Sync {
    /// The state of a request of a queue.
    ///
    /// # Errors
    /// Where the state cannot be learned. Do not answer [`Unknown`](RequestState::Unknown) then: the
    /// duplicate would be let through. An error of another store fits into
    /// [`Error::with_source`](crate::Error::with_source).
    async fn request_state(&self, queue: &str, request_id: &str) -> Result<RequestState>;
}

/// The claim that makes a request a duplicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The other, live request's claim: of which URI, and by which request.
    pub claim: ChangeRecord,
}

impl Duplicate {
    /// The live request that has claimed the change.
    #[must_use]
    pub fn request_id(&self) -> &str {
        self.claim.key.request_id()
    }

    /// The change that both want.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.claim.key.uri()
    }
}

/// The first live claim by another request on one of the URIs, in the order of the URIs and then of
/// the request ids.
///
/// Skips the request itself, so that a redelivered request is no duplicate of itself, and requests
/// that are terminal or unknown. Each other request is looked up once, however many of the changes it
/// has claimed.
///
/// Two requests that are validated at the same moment can each miss the other's claims: a queue
/// validates one request at a time.
///
/// # Errors
/// Those of [`ChangeStore::get_by_uri`] and of the liveness.
///
/// ```
/// # use changestore_core::*;
/// # #[derive(Debug)] struct Requests;
/// # #[async_trait::async_trait] impl Liveness for Requests {
/// #     async fn request_state(&self, _: &str, _: &str) -> Result<RequestState> { Ok(RequestState::Live) }
/// # }
/// async fn validate(store: &dyn ChangeStore, requests: &Requests) -> Result<bool> {
///     let uris = ["github://github.com/o/r/pull/7/3f1c"];
///     Ok(find_duplicate(store, requests, "main", "main/8", &uris).await?.is_none())
/// }
/// ```
pub async fn find_duplicate<S, L, U>(
    store: &S,
    liveness: &L,
    queue: &str,
    request_id: &str,
    uris: &[U],
) -> Result<Option<Duplicate>>
where
    S: ChangeStore + ?Sized,
    L: Liveness + ?Sized,
    U: AsRef<str> + Sync,
{
    let mut looked_up = HashSet::new();
    for uri in uris {
        for claim in store.get_by_uri(queue, uri.as_ref()).await? {
            let other = claim.key.request_id();
            if other == request_id || looked_up.contains(other) {
                continue;
            }
            match liveness.request_state(queue, other).await? {
                RequestState::Live => return Ok(Some(Duplicate { claim })),
                RequestState::Terminal | RequestState::Unknown => {
                    looked_up.insert(other.to_owned());
                }
            }
        }
    }
    Ok(None)
}
