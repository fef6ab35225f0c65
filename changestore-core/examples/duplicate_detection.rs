//! The validate step of a merge queue: refuse a request whose changes another one in flight has
//! claimed, or claim them.
//!
//! `cargo run --package changestore-core --example duplicate_detection`

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Clock as _, Liveness, Metadata, RequestState, Result,
    SystemClock, find_duplicate,
};
use store_mem::MemStore;

/// The queue's own knowledge of its requests; a real one keeps it in a database.
#[derive(Debug, Default)]
struct Requests(Mutex<HashMap<String, RequestState>>);

impl Requests {
    fn set(&self, request_id: &str, state: RequestState) {
        self.0
            .lock()
            .expect("no panic")
            .insert(request_id.to_owned(), state);
    }
}

#[async_trait]
impl Liveness for Requests {
    async fn request_state(&self, _queue: &str, request_id: &str) -> Result<RequestState> {
        let states = self.0.lock().expect("no panic");
        Ok(states
            .get(request_id)
            .copied()
            .unwrap_or(RequestState::Unknown))
    }
}

/// Claims the changes for the request, or says who has claimed one of them. Delivering the same
/// request again is harmless: claims are idempotent.
async fn validate(
    claims: &dyn ChangeStore,
    requests: &Requests,
    request_id: &str,
    uris: &[&str],
) -> Result<Option<String>> {
    if let Some(found) = find_duplicate(claims, requests, "main", request_id, uris).await? {
        requests.set(request_id, RequestState::Terminal);
        return Ok(Some(format!("{} has {}", found.request_id(), found.uri())));
    }
    requests.set(request_id, RequestState::Live);
    for uri in uris {
        let key = ChangeKey::new("main", *uri, request_id)?;
        let claim = ChangeRecord::new(key, Metadata::default(), SystemClock.now());
        let _created_or_already_there = claims.create(claim).await?;
    }
    Ok(None)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (claims, requests) = (MemStore::new(), Requests::default());
    let stack = [
        "github://github.com/o/r/pull/1/a1",
        "github://github.com/o/r/pull/2/b2",
    ];

    assert_eq!(validate(&claims, &requests, "main/1", &stack).await?, None);
    println!("main/1 claims the stack");

    let refused = validate(&claims, &requests, "main/2", &stack[1..]).await?;
    println!(
        "main/2 is a duplicate: {}",
        refused.as_deref().unwrap_or("?")
    );
    assert_eq!(
        refused.as_deref(),
        Some("main/1 has github://github.com/o/r/pull/2/b2")
    );

    // Its claims stay for audit, but they no longer count.
    requests.set("main/1", RequestState::Terminal);
    assert_eq!(
        validate(&claims, &requests, "main/3", &stack[1..]).await?,
        None
    );
    println!("main/1 has landed, so main/3 claims the change");

    for claim in claims.get_by_uri("main", stack[1]).await? {
        println!(
            "  {} was claimed by {}",
            claim.key.uri(),
            claim.key.request_id()
        );
    }
    Ok(())
}
