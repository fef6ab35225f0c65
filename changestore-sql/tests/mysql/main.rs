//! What MySQL and MariaDB add to the contracts: servers that are set up otherwise, sessions, schemas, locks,
//! lost connections. Every test needs a server of its own machine and is ignored without being asked for:
//!
//! ```text
//! cargo test -p changestore-sql --features mysql --test mysql -- --ignored
//! ```

mod batches;
mod broken;
mod cancelled;
mod corruption;
mod crash;
mod garbage;
mod hostile;
mod locks;
mod opening;
mod plans;
mod pools;
mod rights;
mod schema;
mod server;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Key, Metadata, NewRecord, Timestamp,
};
use changestore_sql::MySqlStore;

fn key(sk: &str) -> Key {
    Key::new("partition", sk).unwrap()
}

fn record(sk: &str, data: &str) -> NewRecord {
    NewRecord::new(key(sk), data.to_owned()).unwrap()
}

fn claim(request_id: &str) -> ChangeRecord {
    let key = ChangeKey::new("queue", "uri", request_id).unwrap();
    let now = Timestamp::from_millis(1_795_996_800_000).unwrap();
    ChangeRecord::new(key, Metadata::default(), now)
}

/// Creates a claim that must be new.
async fn created(store: &MySqlStore, request_id: &str) {
    let outcome = store.create(claim(request_id)).await.unwrap();
    assert_eq!(outcome, CreateOutcome::Created);
}
