//! What SQLite adds to the contracts: files, schemas, locks, transactions.

mod contention;
mod corruption;
mod errors;
mod garbage;
mod group_commit;
mod opening;
mod pools;
mod reads;
mod rearm;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Key, Metadata, NewRecord, Timestamp,
};
use changestore_sql::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A folder with the path of a database that is not there yet.
struct File {
    folder: TempDir,
    path: String,
}

impl File {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("changestore.db");
        let path = path.to_str().unwrap().to_owned();
        Self { folder, path }
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::new(&self.path).unwrap()
    }

    async fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.path).await.unwrap()
    }

    /// Another way into the file.
    fn direct(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }
}

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
async fn created(store: &SqliteStore, request_id: &str) {
    let outcome = store.create(claim(request_id)).await.unwrap();
    assert_eq!(outcome, CreateOutcome::Created);
}
