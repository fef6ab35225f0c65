//! The log of a database that lost its machine: cut off, or with other bytes in it, at many places.
//!
//! Each write is a transaction of its own here, so whatever is left must be the first so many of them, whole.

use std::fs;
use std::path::Path;

use changestore_core::{ChangeStore as _, Condition, DocumentStore as _, DocumentStoreExt as _};
use changestore_core::{Key, NewRecord, QueryOptions};
use changestore_sql::SqliteStore;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::file;

const WRITES: usize = 60;

/// What is done to the log.
#[derive(Debug, Clone, Copy)]
enum Tear {
    /// Nothing follows from here on.
    Cut,
    /// A bit is another.
    Flip,
    /// A page of zeros, as of a block that was never written.
    Blank,
}

fn record(n: usize) -> NewRecord {
    let key = Key::new("partition", format!("{n:04}")).unwrap();
    // Some span pages: half of one would show.
    NewRecord::new(key, vec![n.to_le_bytes()[0]; n * 97 % 9_000]).unwrap()
}

pub(super) fn a_torn_log() {
    let (_folder, path) = file();
    let runtime = Runtime::new().unwrap();
    let (database, log) = runtime.block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        for n in 0..WRITES {
            store.put(record(n), Condition::IfAbsent).await.unwrap();
        }
        // As they lie there while the store is open.
        let read = |suffix: &str| fs::read(format!("{path}{suffix}")).unwrap();
        (read(""), read("-wal"))
    });
    assert!(log.len() > 100_000, "the writes are still in the log");
    let mut kept = Vec::new();
    for step in 0..40 {
        // Not at the ends of pages only.
        let at = log.len() * step / 40 + step * 7;
        for tear in [Tear::Cut, Tear::Flip, Tear::Blank] {
            let mut torn = log.clone();
            match tear {
                Tear::Cut => torn.truncate(at),
                Tear::Flip => torn[at] ^= 0x10,
                Tear::Blank => {
                    let end = (at + 4_096).min(torn.len());
                    torn[at..end].fill(0);
                }
            }
            let folder = TempDir::new().unwrap();
            let copy = folder.path().join("changestore.db");
            fs::write(&copy, &database).unwrap();
            fs::write(folder.path().join("changestore.db-wal"), torn).unwrap();
            let left = runtime.block_on(left_in(&copy));
            let left = left.unwrap_or_else(|error| panic!("{error:?} after {tear:?} at {at}"));
            kept.push(left);
        }
    }
    assert!(kept.iter().any(|left| *left > WRITES / 2), "{kept:?}");
    assert!(kept.iter().any(|left| *left < WRITES / 2), "{kept:?}");
}

/// How many of the writes are left, from the first one on; the store works on.
async fn left_in(path: &Path) -> changestore_core::Result<usize> {
    let store = SqliteStore::open(path.to_str().unwrap()).await?;
    let records = store
        .query_all("partition", "", QueryOptions::default())
        .await?;
    for (n, stored) in records.iter().enumerate() {
        let written = record(n);
        assert_eq!(stored.key, *written.key(), "one is missing before it");
        assert_eq!(stored.data, *written.data(), "half of a write");
        assert_eq!(stored.version.get(), 1);
    }
    assert!(records.len() <= WRITES);
    store.put(record(WRITES), Condition::IfAbsent).await?;
    assert!(store.get_by_uri("queue", "uri").await?.is_empty());
    store.close().await;
    Ok(records.len())
}
