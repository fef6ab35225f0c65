//! What the store held when a batch was read, with what the batch itself has decided so far.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, DocumentStoreExt, Error, ErrorKind,
    Liveness, Metadata, MetadataUpdate, Operation, RequestState, Result, Timestamp,
};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::event::{Event, Kind};
use super::intent::Decision;
use super::request::{self, LandRequest, Verdict};
use crate::backend::Stores;

/// How many reads or writes are under way at once. They share the backend's round trips and commits.
pub(crate) const CONCURRENCY: usize = 64;

/// The claims and requests of one queue that a batch of events can ask for, read beforehand, so that
/// the events can be decided one after the other without waiting for the store.
///
/// It is the [`ChangeStore`] and the [`Liveness`] that [`find_duplicate`] is given: what was not read
/// beforehand is read from the store behind it. Writing goes through [`apply`](Self::apply) alone.
///
/// [`find_duplicate`]: changestore_core::find_duplicate
#[derive(Debug)]
pub(crate) struct Snapshot {
    stores: Stores,
    queue: String,
    requests: HashMap<String, Option<LandRequest>>,
    claims: HashMap<String, Vec<ChangeRecord>>,
}

impl Snapshot {
    /// Reads what the events need. All of them are of this queue.
    pub(crate) async fn read(stores: &Stores, queue: &str, events: &[Event]) -> Result<Self> {
        let mut snapshot = Self {
            stores: stores.clone(),
            queue: queue.to_owned(),
            requests: HashMap::new(),
            claims: HashMap::new(),
        };
        let named = events.iter().map(|event| event.request_id.as_str());
        snapshot.read_requests(named).await?;
        let new_uris: HashSet<&str> = events
            .iter()
            .filter(|event| snapshot.request(&event.request_id).is_none())
            .flat_map(|event| match &event.kind {
                Kind::Submit { uris } => uris.as_slice(),
                Kind::Finish { .. } => &[],
            })
            .map(String::as_str)
            .collect();
        snapshot.claims = stream::iter(new_uris)
            .map(async |uri| {
                let claims = stores.changes.get_by_uri(queue, uri).await?;
                Ok::<_, Error>((uri.to_owned(), claims))
            })
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        let claims: Vec<ChangeRecord> = snapshot.claims.values().flatten().cloned().collect();
        let owners = claims.iter().map(|claim| claim.key.request_id());
        snapshot.read_requests(owners).await?;
        Ok(snapshot)
    }

    async fn read_requests(&mut self, ids: impl Iterator<Item = &str>) -> Result<()> {
        let unread: HashSet<&str> = ids.filter(|id| !self.requests.contains_key(*id)).collect();
        let (stores, queue) = (&self.stores, self.queue.as_str());
        let read: Vec<_> = stream::iter(unread)
            .map(async |id| Ok::<_, Error>((id.to_owned(), find_request(stores, queue, id).await?)))
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        self.requests.extend(read);
        Ok(())
    }

    /// A request that the batch names, if it has been submitted.
    pub(crate) fn request(&self, request_id: &str) -> Option<&LandRequest> {
        self.requests.get(request_id)?.as_ref()
    }

    /// Counts a decision as done for the events after it.
    pub(crate) fn apply(&mut self, decision: &Decision) -> Result<()> {
        match decision {
            Decision::Submitted {
                request_id,
                request,
            } => {
                for claim in claims_of(&self.queue, request_id, request)? {
                    let claims = self.claims.entry(claim.key.uri().to_owned()).or_default();
                    let place = claims.partition_point(|other| other.key < claim.key);
                    claims.insert(place, claim);
                }
                let request = Some(request.clone());
                self.requests.insert(request_id.clone(), request);
            }
            Decision::Finished { request_id, finish } => {
                if let Some(Some(request)) = self.requests.get_mut(request_id) {
                    request.finished = Some(finish.clone());
                }
            }
        }
        Ok(())
    }
}

/// The claims that a submitted request makes: none if it is a duplicate.
pub(crate) fn claims_of(
    queue: &str,
    request_id: &str,
    request: &LandRequest,
) -> Result<Vec<ChangeRecord>> {
    if request.verdict != Verdict::Claimed {
        return Ok(Vec::new());
    }
    let submitted_at = Timestamp::from_millis(request.submitted_at)?;
    let uris = request.uris.iter();
    uris.map(|uri| {
        let key = ChangeKey::new(queue, uri, request_id)?;
        Ok(ChangeRecord::new(key, Metadata::default(), submitted_at))
    })
    .collect()
}

async fn find_request(stores: &Stores, queue: &str, id: &str) -> Result<Option<LandRequest>> {
    let record = stores.documents.find(&request::key(queue, id)?).await?;
    record.as_ref().map(LandRequest::from_record).transpose()
}

#[async_trait]
impl ChangeStore for Snapshot {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        Err(read_only(Operation::Create, &record.key))
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        match self.claims.get(uri) {
            Some(claims) if queue == self.queue => Ok(claims.clone()),
            _ => self.stores.changes.get_by_uri(queue, uri).await,
        }
    }

    async fn update_metadata(&self, key: &ChangeKey, _: MetadataUpdate) -> Result<()> {
        Err(read_only(Operation::UpdateMetadata, key))
    }
}

fn read_only(operation: Operation, key: &ChangeKey) -> Error {
    Error::new(ErrorKind::PermissionDenied)
        .with_operation(operation)
        .with_key(key)
        .with_message("a snapshot is only read")
}

#[async_trait]
impl Liveness for Snapshot {
    async fn request_state(&self, queue: &str, request_id: &str) -> Result<RequestState> {
        let request = match self.requests.get(request_id) {
            Some(request) if queue == self.queue => request.clone(),
            _ => find_request(&self.stores, queue, request_id).await?,
        };
        Ok(request.map_or(RequestState::Unknown, |request| request.state()))
    }
}
