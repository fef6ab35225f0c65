//! A review queue without a secondary index: the suggestion is the truth, and an explicit index item
//! per status makes "the oldest open ones" one query.
//!
//! There are no transactions, so the two writes can be torn apart by a crash. The order of the
//! writes makes that harmless: an index item may be left over or missing for a while, and
//! [`repair`] makes the index agree with the suggestions again.
//!
//! `cargo run --package changestore-core --example review_queue`

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt, Error, ErrorKind, Key, NewRecord, QueryOptions,
    Result,
};
use store_mem::MemStore;

const STATUSES: [&str; 3] = ["open", "accepted", "rejected"];

fn suggestion(id: &str) -> Result<Key> {
    Key::new("SUGGESTION", id)
}

fn index_item(status: &str, id: &str) -> Result<Key> {
    // Ids start with the time of the suggestion, so the index is in that order.
    Key::new(format!("STATUS#{status}"), id)
}

async fn suggest(store: &dyn DocumentStore, id: &str) -> Result<()> {
    // The index first: an item without its suggestion is skipped by readers, while a suggestion
    // without its item would wait for ever.
    store
        .put(
            NewRecord::new(index_item("open", id)?, "")?,
            Condition::None,
        )
        .await?;
    store
        .put(
            NewRecord::new(suggestion(id)?, "open")?,
            Condition::IfAbsent,
        )
        .await?;
    Ok(())
}

/// Decides an open suggestion; of two reviewers exactly one wins.
async fn decide(store: &dyn DocumentStore, id: &str, status: &'static str) -> Result<bool> {
    let key = suggestion(id)?;
    let current = store.get(&key).await?;
    if current.data != "open" {
        return Ok(false);
    }
    store
        .put(
            NewRecord::new(index_item(status, id)?, "")?,
            Condition::None,
        )
        .await?;
    let decided = NewRecord::new(key, status)?;
    match store
        .put(decided, Condition::IfVersion(current.version))
        .await
    {
        Ok(_) => {}
        Err(error) if error.is_condition_failed() => return Ok(false),
        Err(error) => return Err(error),
    }
    unless_missing(
        store
            .delete(&index_item("open", id)?, Condition::None)
            .await,
    )?;
    Ok(true)
}

/// The oldest suggestions of a status: the index says which, the suggestions say whether.
async fn oldest(store: &dyn DocumentStore, status: &str, limit: usize) -> Result<Vec<String>> {
    let options = QueryOptions::default().with_limit(limit);
    let mut ids = Vec::new();
    for item in store
        .query_all(&format!("STATUS#{status}"), "", options)
        .await?
    {
        let record = store.find(&suggestion(item.key.sk())?).await?;
        if record.is_some_and(|record| record.data == status) {
            ids.push(item.key.sk().to_owned());
        }
    }
    Ok(ids)
}

/// Makes the index what the suggestions say.
async fn repair(store: &dyn DocumentStore) -> Result<()> {
    for record in store
        .query_all("SUGGESTION", "", QueryOptions::default())
        .await?
    {
        for status in STATUSES {
            let item = index_item(status, record.key.sk())?;
            if record.data == status {
                store
                    .put(NewRecord::new(item, "")?, Condition::None)
                    .await?;
            } else {
                unless_missing(store.delete(&item, Condition::None).await)?;
            }
        }
    }
    Ok(())
}

fn unless_missing(result: Result<(), Error>) -> Result<()> {
    match result {
        Err(error) if *error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let store = MemStore::new();
    for id in ["2026-11-28#jazz", "2026-11-29#folk", "2026-11-30#blues"] {
        suggest(&store, id).await?;
    }
    println!(
        "open, the oldest two: {:?}",
        oldest(&store, "open", 2).await?
    );
    assert_eq!(
        oldest(&store, "open", 2).await?,
        ["2026-11-28#jazz", "2026-11-29#folk"]
    );

    assert!(decide(&store, "2026-11-28#jazz", "accepted").await?);
    assert!(!decide(&store, "2026-11-28#jazz", "rejected").await?);
    println!("open: {:?}", oldest(&store, "open", 0).await?);
    println!("accepted: {:?}", oldest(&store, "accepted", 0).await?);
    assert_eq!(oldest(&store, "accepted", 0).await?, ["2026-11-28#jazz"]);

    // A crash in the middle of a decision has left an index item behind, and lost another.
    store
        .put(
            NewRecord::new(index_item("rejected", "2026-11-29#folk")?, "")?,
            Condition::None,
        )
        .await?;
    store
        .delete(&index_item("open", "2026-11-30#blues")?, Condition::None)
        .await?;
    repair(&store).await?;
    assert_eq!(
        oldest(&store, "open", 0).await?,
        ["2026-11-29#folk", "2026-11-30#blues"]
    );
    assert!(
        store
            .query_all("STATUS#rejected", "", QueryOptions::default())
            .await?
            .is_empty()
    );
    println!("repaired, open: {:?}", oldest(&store, "open", 0).await?);
    Ok(())
}
