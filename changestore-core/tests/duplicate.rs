//! `find_duplicate`: which claims count, in which order, and how often a request is looked up.

use std::collections::HashMap;

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Error, ErrorKind, Liveness, Metadata,
    RequestState, Result, Timestamp, find_duplicate,
};
use std::sync::Mutex;
use store_mem::MemStore;

/// Requests with known states, which counts its look-ups.
#[derive(Debug, Default)]
struct Requests {
    states: HashMap<&'static str, RequestState>,
    looked_up: Mutex<Vec<String>>,
}

impl Requests {
    fn new(states: &[(&'static str, RequestState)]) -> Self {
        Self {
            states: states.iter().copied().collect(),
            looked_up: Mutex::default(),
        }
    }

    fn looked_up(&self) -> Vec<String> {
        self.looked_up.lock().unwrap().clone()
    }
}

#[async_trait]
impl Liveness for Requests {
    async fn request_state(&self, queue: &str, request_id: &str) -> Result<RequestState> {
        assert_eq!(queue, "queue");
        self.looked_up.lock().unwrap().push(request_id.to_owned());
        Ok(self
            .states
            .get(request_id)
            .copied()
            .unwrap_or(RequestState::Unknown))
    }
}

async fn store_with(claims: &[(&str, &str)]) -> MemStore {
    let store = MemStore::new();
    for (uri, request) in claims {
        let key = ChangeKey::new("queue", *uri, *request).unwrap();
        let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
        assert_eq!(store.create(claim).await.unwrap(), CreateOutcome::Created);
    }
    store
}

async fn found(store: &MemStore, requests: &Requests, uris: &[&str]) -> Option<(String, String)> {
    let duplicate = find_duplicate(store, requests, "queue", "self", uris)
        .await
        .unwrap();
    duplicate.map(|found| (found.uri().to_owned(), found.request_id().to_owned()))
}

#[tokio::test]
async fn nobody_elses_claim_is_no_duplicate() {
    let store = store_with(&[("a", "self"), ("elsewhere", "live")]).await;
    let requests = Requests::new(&[("self", RequestState::Live), ("live", RequestState::Live)]);
    assert_eq!(found(&store, &requests, &["a", "b"]).await, None);
    assert!(
        requests.looked_up().is_empty(),
        "the request itself is not looked up"
    );
}

#[tokio::test]
async fn the_first_live_request_wins_in_the_order_of_uris_then_of_request_ids() {
    let store = store_with(&[
        ("a", "3-done"),
        ("b", "2-live"),
        ("b", "1-live"),
        ("c", "0-live"),
    ])
    .await;
    let requests = Requests::new(&[
        ("0-live", RequestState::Live),
        ("1-live", RequestState::Live),
        ("2-live", RequestState::Live),
        ("3-done", RequestState::Terminal),
    ]);
    let found = found(&store, &requests, &["a", "b", "c"]).await;
    assert_eq!(found, Some(("b".to_owned(), "1-live".to_owned())));
    assert_eq!(
        requests.looked_up(),
        ["3-done", "1-live"],
        "nothing is read behind the finding"
    );
}

#[tokio::test]
async fn terminal_and_unknown_requests_are_skipped_and_looked_up_once() {
    let store = store_with(&[
        ("a", "done"),
        ("a", "nobody"),
        ("b", "done"),
        ("b", "nobody"),
    ])
    .await;
    let requests = Requests::new(&[("done", RequestState::Terminal)]);
    assert_eq!(found(&store, &requests, &["a", "b", "a"]).await, None);
    assert_eq!(requests.looked_up(), ["done", "nobody"]);
}

#[tokio::test]
async fn a_state_that_cannot_be_learned_is_an_error_and_not_a_pass() {
    #[derive(Debug)]
    struct Down;
    #[async_trait]
    impl Liveness for Down {
        async fn request_state(&self, _: &str, _: &str) -> Result<RequestState> {
            Err(Error::new(ErrorKind::Unavailable))
        }
    }
    let store = store_with(&[("a", "other")]).await;
    let error = find_duplicate(&store, &Down, "queue", "self", &["a"])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable);
}

#[tokio::test]
async fn an_illegal_uri_is_refused_like_anywhere() {
    let store = MemStore::new();
    let requests = Requests::default();
    let error = find_duplicate(&store, &requests, "queue", "self", &[""])
        .await
        .unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::InvalidArgument { field: "uri", .. }
        ),
        "{error}"
    );
}
