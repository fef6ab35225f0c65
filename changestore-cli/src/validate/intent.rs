//! What a batch has decided, written down in one conditional put before any of it is applied.
//!
//! The store has no transactions, and a batch touches many keys. So the decisions of a batch are first
//! put as one record, the queue's **intent**, and only then applied: claims and requests, then
//! finishes. Each step of that can be repeated without harm, because a claim is created once, a request
//! is recorded once and a finish is recorded once. Whoever next handles the queue, after a crash at
//! any point, first applies the intent that it finds.
//!
//! The put is conditional on the etag of the intent before it. So it also settles which of two
//! processes that validate one queue at the same time comes first: the other one's put fails, and it
//! applies what it finds and decides again. A process reads an etag before it reads what it decides
//! upon, hence nothing can have been decided in between without its noticing.

use std::collections::HashMap;

use changestore_core::{
    Condition, DocumentStoreExt, Error, Etag, Key, NewRecord, Record, Result, limits,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::request::{self, Finish, LandRequest, to_json};
use super::snapshot::{CONCURRENCY, claims_of};
use crate::backend::Stores;

/// So many queues' etags are remembered between batches; the rest is read again.
const MAX_KNOWN_QUEUES: usize = 256;

/// One thing to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decision {
    /// A request and its verdict.
    Submitted {
        request_id: String,
        request: LandRequest,
    },
    /// The end of a request that was submitted before, perhaps in the same intent.
    Finished { request_id: String, finish: Finish },
}

/// The decisions of a batch, in the order of their events. At most one record's size.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Intent {
    decisions: Vec<Decision>,
    #[serde(skip)]
    bytes: usize,
}

impl Intent {
    pub(crate) fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// Whether the decision fits into the record beside the others.
    pub(crate) fn has_room_for(&self, decision: &Decision) -> bool {
        self.bytes + to_json(decision).len() + r#"{"decisions":[,]}"#.len()
            <= limits::DATA.max_bytes()
    }

    pub(crate) fn push(&mut self, decision: Decision) {
        self.bytes += to_json(&decision).len() + ",".len();
        self.decisions.push(decision);
    }

    fn from_record(record: &Record) -> Result<Self> {
        serde_json::from_slice(&record.data).map_err(|error| {
            Error::corrupt("this is no intent of `changestore validate`")
                .with_key(&record.key)
                .with_source(error)
        })
    }
}

/// Does what was decided; what has been done already stays as it is.
async fn apply(intent: Intent, stores: &Stores, queue: &str) -> Result<()> {
    let mut claims = Vec::new();
    let mut requests = Vec::new();
    let mut finishes = Vec::new();
    for decision in intent.decisions {
        match decision {
            Decision::Submitted {
                request_id,
                request,
            } => {
                claims.extend(claims_of(queue, &request_id, &request)?);
                requests.push(request.to_record(queue, &request_id)?);
            }
            Decision::Finished { request_id, finish } => finishes.push((request_id, finish)),
        }
    }
    let claim = async |claim| stores.changes.create(claim).await.map(drop);
    let record = async |request| match stores.documents.put(request, Condition::IfAbsent).await {
        Err(error) if error.is_condition_failed() => Ok(()),
        put => put.map(drop),
    };
    futures::try_join!(for_each(claims, claim), for_each(requests, record),)?;
    for_each(finishes, async |(request_id, finish)| {
        record_finish(stores, queue, &request_id, &finish).await
    })
    .await
}

async fn for_each<T, F, Fut>(items: Vec<T>, act: F) -> Result<()>
where
    F: FnMut(T) -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let items = stream::iter(items).map(Ok);
    items.try_for_each_concurrent(CONCURRENCY, act).await
}

async fn record_finish(
    stores: &Stores,
    queue: &str,
    request_id: &str,
    finish: &Finish,
) -> Result<()> {
    let finished = |record: Option<&Record>| {
        let Some(record) = record else {
            return Err(Error::corrupt(
                "an intent finishes a request without a record",
            ));
        };
        let mut request = LandRequest::from_record(record)?;
        if request.finished.is_some() {
            return Ok(None);
        }
        request.finished = Some(finish.clone());
        request.to_record(queue, request_id).map(Some)
    };
    let key = request::key(queue, request_id)?;
    stores.documents.update(&key, finished).await.map(drop)
}

/// The intents of the queues that this process handles.
#[derive(Debug)]
pub(crate) struct Intents {
    stores: Stores,
    /// The etag under which a queue's intent was last seen, applied in full; none where there is no
    /// record.
    known: HashMap<String, Option<Etag>>,
}

impl Intents {
    pub(crate) fn new(stores: Stores) -> Self {
        Self {
            stores,
            known: HashMap::new(),
        }
    }

    /// Makes sure that everything decided for the queue has been applied.
    pub(crate) async fn catch_up(&mut self, queue: &str) -> Result<()> {
        if self.known.contains_key(queue) {
            return Ok(());
        }
        if self.known.len() >= MAX_KNOWN_QUEUES {
            self.clear().await?;
        }
        let etag = match self.stores.documents.find(&key(queue)?).await? {
            None => None,
            Some(record) => {
                let intent = Intent::from_record(&record)?;
                apply(intent, &self.stores, queue).await?;
                Some(record.etag)
            }
        };
        self.known.insert(queue.to_owned(), etag);
        Ok(())
    }

    /// Whether nothing has been decided for the queue since it was caught up; if something was, the
    /// next [`catch_up`](Self::catch_up) finds it.
    pub(crate) async fn is_current(&mut self, queue: &str) -> Result<bool> {
        let stored = self.stores.documents.find(&key(queue)?).await?;
        let current = self.known.get(queue) == Some(&stored.map(|record| record.etag));
        if !current {
            self.known.remove(queue);
        }
        Ok(current)
    }

    /// Writes the intent down and applies it. False if something else may have been decided since the
    /// queue was caught up: then nothing was written, and what was read is to be read again.
    pub(crate) async fn carry_out(&mut self, queue: &str, intent: Intent) -> Result<bool> {
        // Until the intent is applied the queue is not known to be caught up.
        let Some(Some(etag)) = self.known.remove(queue) else {
            // The first intent needs an etag of its own to follow: "if absent" would not notice
            // another process that came, decided and cleared its intent away meanwhile.
            self.put(queue, &Intent::default(), Condition::IfAbsent)
                .await?;
            return Ok(false);
        };
        let Some(record) = self.put(queue, &intent, Condition::IfEtag(etag)).await? else {
            return Ok(false);
        };
        apply(intent, &self.stores, queue).await?;
        self.known.insert(queue.to_owned(), Some(record.etag));
        Ok(true)
    }

    /// Puts an intent; none if the condition failed.
    async fn put(
        &self,
        queue: &str,
        intent: &Intent,
        condition: Condition,
    ) -> Result<Option<Record>> {
        let record = NewRecord::new(key(queue)?, to_json(intent))?;
        match self.stores.documents.put(record, condition).await {
            Ok(record) => Ok(Some(record)),
            Err(error) if error.is_condition_failed() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the intents that are applied in full, so that they are not applied again, and the
    /// store looks the same however the events were cut into batches.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        let known = std::mem::take(&mut self.known).into_iter();
        let applied = known
            .filter_map(|(queue, etag)| Some((queue, etag?)))
            .collect();
        for_each(applied, async |(queue, etag): (String, Etag)| {
            let condition = Condition::IfEtag(etag);
            match self.stores.documents.delete(&key(&queue)?, condition).await {
                // Another process has gone on from there.
                Err(error) if error.is_condition_failed() || error.is_not_found() => Ok(()),
                deleted => deleted,
            }
        })
        .await
    }
}

fn key(queue: &str) -> Result<Key> {
    Key::new(format!("VALIDATE#{queue}"), "intent")
}
