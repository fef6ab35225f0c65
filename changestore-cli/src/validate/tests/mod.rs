//! Batches against a simple model of them, on stores that fail, stall and crash.

mod concurrency;
mod crash;
mod redelivery;
mod rough;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use changestore_core::{
    ChangeRecord, ChangeStore, DocumentStoreExt, QueryOptions, Result, Timestamp, Version,
};
use store_mem::MemStore;

use super::batch::Batches;
use super::decide::{Answer, Refusal, Said};
use super::event::{Event, Kind};
use super::request::Verdict;
use crate::backend::Stores;
use rough::RoughStore;

const QUEUE: &str = "q";

type Answers = Vec<std::result::Result<Answer, Refusal>>;

fn submit(request_id: &str, uris: &[&str], at: i64) -> Event {
    event(
        request_id,
        at,
        Kind::Submit {
            uris: uris.iter().map(ToString::to_string).collect(),
        },
    )
}

fn finish(request_id: &str, state: &str, at: i64) -> Event {
    let state = state.to_owned();
    event(request_id, at, Kind::Finish { state })
}

fn event(request_id: &str, at: i64, kind: Kind) -> Event {
    Event {
        queue: QUEUE.to_owned(),
        request_id: request_id.to_owned(),
        at: Timestamp::from_millis(at).unwrap(),
        kind,
    }
}

fn stores(store: &RoughStore) -> Stores {
    Stores {
        changes: Arc::new(store.clone()),
        documents: Arc::new(store.clone()),
    }
}

/// Runs the events in batches of at most this size, keeping going, to the end.
async fn run(store: &RoughStore, events: &[Event], batch: usize) -> Result<Answers> {
    let mut batches = Batches::new(stores(store), true);
    let mut answers = Vec::new();
    let outcome = async {
        for mut events in events.chunks(batch) {
            while !events.is_empty() {
                let some = batches.handle(events).await?;
                events = &events[some.len()..];
                answers.extend(some);
            }
        }
        Ok(())
    };
    let outcome = outcome.await;
    let cleared = batches.end().await;
    outcome.and(cleared).map(|()| answers)
}

/// Everything that is stored, but the etags, which are never the same.
#[derive(Debug, PartialEq, Eq)]
struct Dump {
    requests: Vec<(String, Version, String)>,
    intents: usize,
    claims: Vec<ChangeRecord>,
}

async fn dump(store: &MemStore, events: &[Event]) -> Dump {
    let all = QueryOptions::default;
    let requests = store.query_all("REQUEST#q", "", all()).await.unwrap();
    let intents = store.query_all("VALIDATE#q", "", all()).await.unwrap();
    let uris: BTreeSet<&String> = events
        .iter()
        .flat_map(|event| match &event.kind {
            Kind::Submit { uris } => uris.as_slice(),
            Kind::Finish { .. } => &[],
        })
        .collect();
    let mut claims = Vec::new();
    for uri in uris {
        claims.extend(store.get_by_uri(QUEUE, uri).await.unwrap());
    }
    Dump {
        requests: requests
            .into_iter()
            .map(|record| {
                let data = String::from_utf8(record.data.to_vec()).unwrap();
                (record.key.sk().to_owned(), record.version, data)
            })
            .collect(),
        intents: intents.len(),
        claims,
    }
}

/// What `validate` is meant to do, one event after the other, without stores, batches or failures.
#[derive(Default)]
struct Model {
    requests: BTreeMap<String, ModelRequest>,
}

struct ModelRequest {
    uris: Vec<String>,
    verdict: Verdict,
    finished: Option<String>,
}

impl Model {
    /// The answer; none where the event is refused.
    fn answer(&mut self, event: &Event) -> Option<Answer> {
        let (said, redelivered) = match &event.kind {
            Kind::Submit { uris } => {
                if let Some(request) = self.requests.get(&event.request_id) {
                    let verdict = request.verdict.clone();
                    (request.uris == *uris).then_some((Said::Verdict(verdict), true))?
                } else {
                    let verdict = self.verdict(uris);
                    let request = ModelRequest {
                        uris: uris.clone(),
                        verdict: verdict.clone(),
                        finished: None,
                    };
                    self.requests.insert(event.request_id.clone(), request);
                    (Said::Verdict(verdict), false)
                }
            }
            Kind::Finish { state } => {
                let request = self.requests.get_mut(&event.request_id)?;
                let redelivered = request.finished.is_some();
                let recorded = request.finished.get_or_insert_with(|| state.clone());
                let state = state.clone();
                (recorded == &state).then_some((Said::Finished { state }, redelivered))?
            }
        };
        Some(Answer { said, redelivered })
    }

    fn verdict(&self, uris: &[String]) -> Verdict {
        for uri in uris {
            for (id, other) in &self.requests {
                let is_live = other.verdict == Verdict::Claimed && other.finished.is_none();
                if is_live && other.uris.contains(uri) {
                    let (of, uri) = (id.clone(), uri.clone());
                    return Verdict::Duplicate { of, uri };
                }
            }
        }
        Verdict::Claimed
    }
}
