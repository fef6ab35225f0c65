//! What a process does that the tests start.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore as _, CreateOutcome, DocumentStore as _,
    DocumentStoreExt as _, ErrorKind, Key, Metadata, NewRecord, Outcome, Timestamp,
};
use changestore_sql::SqliteStore;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::locked::try_to_write;

/// Tasks of one process.
pub(crate) const TASKS: usize = 64;
/// Increments and creates of one task.
pub(crate) const STEPS: usize = 10;
/// Claims that all tasks of all processes want to create.
pub(crate) const SHARED: usize = 40;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    /// Writes the same things as another process at the same time.
    Contender,
    /// Says which of its writes were acknowledged, for ever.
    Acknowledger,
    /// Writes until nothing can be written any more, and says what it was told of each.
    Filler,
    /// May not write, and tries to.
    Locked,
}

impl Role {
    pub(crate) const VARIABLE: &str = "CHANGESTORE_TEST_ROLE";
    pub(crate) const PATH_VARIABLE: &str = "CHANGESTORE_TEST_PATH";

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Contender => "contender",
            Self::Acknowledger => "acknowledger",
            Self::Filler => "filler",
            Self::Locked => "locked",
        }
    }

    pub(crate) fn from_environment() -> Option<(Self, String)> {
        let name = std::env::var(Self::VARIABLE).ok()?;
        let roles = [
            Self::Contender,
            Self::Acknowledger,
            Self::Filler,
            Self::Locked,
        ];
        let role = roles
            .into_iter()
            .find(|role| role.name() == name)
            .expect("a role");
        Some((role, std::env::var(Self::PATH_VARIABLE).expect("a path")))
    }

    /// Opens the file, says so, waits for the word, and does its part.
    pub(crate) fn play(self, path: &str) {
        Runtime::new().expect("a runtime").block_on(async {
            if matches!(self, Self::Locked) {
                return try_to_write(path).await;
            }
            let store = SqliteStore::open(path).await.expect("a store");
            say("ready");
            let mut word = String::new();
            std::io::stdin().read_line(&mut word).expect("a word");
            match self {
                Self::Contender => contend(&store).await,
                Self::Acknowledger => acknowledge(&store).await,
                Self::Filler => fill(&store).await,
                Self::Locked => unreachable!("it has no store"),
            }
        });
    }
}

pub(crate) fn counter() -> Key {
    Key::new("partition", "counter").expect("a key")
}

pub(crate) fn record() -> Key {
    Key::new("partition", "record").expect("a key")
}

pub(crate) fn claim(request_id: String) -> ChangeRecord {
    let key = ChangeKey::new("queue", "uri", request_id).expect("a key");
    ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH)
}

/// To the test, at once.
pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").expect("said");
    stdout.flush().expect("flushed");
}

/// Every task increments the counter, creates the shared claims, and updates the record once by
/// compare-and-set.
async fn contend(store: &SqliteStore) {
    let created = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (store, created) = (store.clone(), Arc::clone(&created));
        tasks.spawn(async move {
            for step in 0..STEPS {
                store.increment(&counter(), 1, None).await.expect("counted");
                let request = format!("r{}", (task + step) % SHARED);
                let outcome = store.create(claim(request)).await.expect("created");
                if outcome == CreateOutcome::Created {
                    created.fetch_add(1, Ordering::Relaxed);
                }
            }
            let next = |_: Option<&_>| Ok(Some(NewRecord::new(record(), "data")?));
            store.update(&record(), next).await.expect("updated");
        });
    }
    tasks.join_all().await;
    store.close().await;
    say(&created.load(Ordering::Relaxed).to_string());
}

/// Eight tasks, so that a kill finds batches. Each line ends with a full stop: it is whole.
async fn acknowledge(store: &SqliteStore) {
    let mut tasks = JoinSet::new();
    for task in 0..8 {
        let store = store.clone();
        tasks.spawn(async move {
            for step in 0.. {
                let request = format!("{task}/{step}.");
                let outcome = store.create(claim(request.clone())).await.expect("created");
                assert_eq!(outcome, CreateOutcome::Created);
                say(&request);
            }
        });
    }
    tasks.join_all().await;
}

/// Eight tasks, each until it has failed three times in a row. Then all can still be read.
async fn fill(store: &SqliteStore) {
    let mut tasks = JoinSet::new();
    for task in 0..8 {
        let store = store.clone();
        tasks.spawn(async move {
            let mut failures = 0;
            for step in 0.. {
                let request = format!("{task}/{step}");
                match store.create(claim(request.clone())).await {
                    Ok(outcome) => {
                        assert_eq!(outcome, CreateOutcome::Created);
                        failures = 0;
                        say(&format!("acknowledged {request}"));
                    }
                    Err(error) => {
                        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
                        failures += 1;
                        let told = match error.outcome() {
                            Outcome::NotApplied => "refused",
                            Outcome::Unknown => "unknown",
                        };
                        say(&format!("{told} {request}"));
                    }
                }
                if failures == 3 {
                    return;
                }
            }
        });
    }
    tasks.join_all().await;
    let claims = store.get_by_uri("queue", "uri").await.expect("read");
    say(&format!("read {}", claims.len()));
}
