//! What each of the two processes does.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore as _, Condition, CreateOutcome, DocumentStore as _,
    DocumentStoreExt as _, Key, Metadata, NewRecord, Timestamp,
};
use changestore_sql::MySqlStore;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Says which database to contend for.
pub(crate) const URL: &str = "CHANGESTORE_TEST_URL";
/// Tasks of one process.
pub(crate) const TASKS: usize = 64;
/// Increments, creates and leases of one task.
pub(crate) const STEPS: usize = 10;
/// Claims that all tasks of both want to create.
pub(crate) const SHARED: usize = 40;
/// Records that all tasks of both want to be the first to put.
pub(crate) const LEASES: usize = 30;

pub(crate) fn counter() -> Key {
    Key::new("partition", "counter").expect("a key")
}

pub(crate) fn record() -> Key {
    Key::new("partition", "record").expect("a key")
}

pub(crate) fn lease(number: usize) -> Key {
    Key::new("leases", number.to_string()).expect("a key")
}

/// Opens the store, says so, waits for the word, and does its part.
pub(crate) fn run(url: &str) {
    Runtime::new().expect("a runtime").block_on(async {
        let store = MySqlStore::open(url).await.expect("a store");
        say("ready");
        let mut word = String::new();
        std::io::stdin().read_line(&mut word).expect("a word");
        contend(&store).await;
        store.close().await;
    });
}

/// To the test, at once.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").expect("said");
    stdout.flush().expect("flushed");
}

async fn contend(store: &MySqlStore) {
    let (created, leased) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        let (created, leased) = (Arc::clone(&created), Arc::clone(&leased));
        tasks.spawn(async move {
            for step in 0..STEPS {
                store.increment(&counter(), 1, None).await.expect("counted");
                let request = format!("r{}", (task * 7 + step) % SHARED);
                if create(&store, request).await == CreateOutcome::Created {
                    created.fetch_add(1, Ordering::Relaxed);
                }
                let wanted = NewRecord::new(lease((task * 5 + step) % LEASES), "mine");
                let put = store.put(wanted.expect("a record"), Condition::IfAbsent);
                match put.await {
                    Ok(_) => _ = leased.fetch_add(1, Ordering::Relaxed),
                    Err(error) => assert!(error.is_condition_failed(), "{error:?}"),
                }
            }
            let next = |_: Option<&_>| Ok(Some(NewRecord::new(record(), "data")?));
            store.update(&record(), next).await.expect("updated");
        });
    }
    tasks.join_all().await;
    say(&created.load(Ordering::Relaxed).to_string());
    say(&leased.load(Ordering::Relaxed).to_string());
}

async fn create(store: &MySqlStore, request_id: String) -> CreateOutcome {
    let key = ChangeKey::new("queue", "uri", request_id).expect("a key");
    let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
    store.create(claim).await.expect("created")
}
