//! One side claims changes, the other sees each claim as it happens.
//!
//! ```sh
//! cargo run -p changestore-sql --features sqlite --example follow_claims
//! ```
//!
//! The two share the file and nothing else; they could as well be two processes.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Clock, CreateOutcome, Metadata, SystemClock,
};
use changestore_sql::SqliteStore;
use changestore_sql::contract::{
    ContractOwner, ContractPlan, ContractReader, Mode, Operation, Poll, SchemaGuard, Value,
};

const REQUESTS: usize = 25;
const CHANGES_PER_REQUEST: usize = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("claims.db");
    // Opening it creates it.
    let store = SqliteStore::open(&path.to_string_lossy()).await?;

    // Once for every archive, by whoever owns it.
    let owner = ContractOwner::open(&path, SchemaGuard::OurMigrations).await?;
    let plan = ContractPlan::new()
        .with_table("changestore_claims", Mode::Rows)
        .with_family("claims", ["changestore_claims"]);
    owner.enable(&plan).await?;

    // The follower begins where the archive is now. The claims come meanwhile.
    let (start, started) = tokio::sync::oneshot::channel();
    let following = tokio::spawn(follow(path.clone(), start));
    started.await?;
    let claimed = claim(&store).await?;
    let seen = following.await??;

    assert_eq!(seen, claimed);
    println!("{} claims, each seen once", seen.len());
    store.close().await;
    Ok(())
}

/// The keys of claims: queue, uri, request.
type Keys = BTreeSet<[String; 3]>;

/// Claims the changes of some land requests, as the validate step of a merge queue does.
async fn claim(store: &SqliteStore) -> changestore_core::Result<Keys> {
    let mut claimed = Keys::new();
    for request in 1..=REQUESTS {
        for change in 0..CHANGES_PER_REQUEST {
            let uri = format!("github://github.com/o/r/pull/{request}{change}/3f1c");
            let key = ChangeKey::new("main", uri, format!("main/{request}"))?;
            claimed.insert([key.queue(), key.uri(), key.request_id()].map(str::to_owned));
            let claim = ChangeRecord::new(key.clone(), Metadata::default(), SystemClock.now());
            let created = store.create(claim.clone()).await?;
            assert_eq!(created, CreateOutcome::Created);
            // A redelivered event claims the same once more: nothing is written, and nothing seen.
            let again = store.create(claim).await?;
            assert_eq!(again, CreateOutcome::AlreadyThere);
        }
    }
    Ok(claimed)
}

/// Prints each claim as it happens, until all have been seen.
async fn follow(
    path: PathBuf,
    started: tokio::sync::oneshot::Sender<()>,
) -> changestore_core::Result<Keys> {
    let mut reader = ContractReader::open(&path, "claims").await?;
    let mut follow = reader.follow(None);

    // Without a cursor the first answer is to read everything; there are no claims yet.
    let first = follow.next().await?;
    let Poll::Rebuild { reason, .. } = first else {
        panic!("a cursor out of nothing: {first:?}");
    };
    println!("rebuild: {reason}");
    // The other side waits for this.
    let _ = started.send(());

    let mut seen = Keys::new();
    while seen.len() < REQUESTS * CHANGES_PER_REQUEST {
        let Poll::Rows(changes) = follow.next().await? else {
            panic!("nothing but claims was written");
        };
        for change in &changes.rows {
            assert_eq!(change.operation, Operation::Insert);
            let [Value::Text(queue), Value::Text(uri), Value::Text(request)] = change.key.parts()
            else {
                panic!("not the key of a claim: {}", change.key);
            };
            println!("{request} claims {uri} in {queue}");
            let key = [queue, uri, request].map(Clone::clone);
            assert!(seen.insert(key), "seen twice: {}", change.key);
        }
    }
    Ok(seen)
}
