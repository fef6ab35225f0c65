//! A process that is killed while it writes to a store of its own, such as a file.
//!
//! The test starts its own program again, which writes with many tasks and says of each write that it was acknowledged;
//! at some moment it is killed (`SIGKILL`). Whoever opens the store then finds all that was said, and of each task at
//! most one write more.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore,
    DocumentStoreExt as _, Error, Key, Metadata, NewRecord, Result, Timestamp,
};
use fastrand::Rng;
use tokio::task::JoinSet;

use super::rounds::{Opened, rounds};
use super::run::runtime;
use super::{Anomaly, Settings, Tally, Violation};
use crate::Harness;

/// The folder of the store; whoever finds it in the environment is the process that is killed.
const FOLDER: &str = "STORETEST_KILLED_FOLDER";
/// What the process calls its queue and its partition.
const PARTITION: &str = "STORETEST_KILLED_PARTITION";

const TASKS: u64 = 16;

/// It is killed when it has said so much, at the latest.
const MOST_SAID: usize = 200;

/// A backend whose stores live in a folder, and not in a server.
#[async_trait]
pub trait KillHarness: Harness {
    /// Opens the stores in that folder, and makes what is not there yet. What is dropped is closed.
    async fn open_in(&self, folder: &Path) -> Stores;
}

/// Both contracts in one folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stores {
    /// The records and counters.
    pub documents: Arc<dyn DocumentStore>,
    /// The claims.
    pub changes: Arc<dyn ChangeStore>,
}

impl Stores {
    /// One store that is both.
    pub fn of<S: DocumentStore + ChangeStore>(store: Arc<S>) -> Self {
        Self {
            documents: store.clone(),
            changes: store,
        }
    }
}

/// A folder for one test.
struct Folder(PathBuf);

impl Opened for Folder {
    async fn clean_up(&mut self) {
        // What is left is in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Kills a process that writes, again and again. `test` is the test that calls this, by its path with the crate's name;
/// in the process that is to be killed it does not return.
pub fn check(harness: &dyn KillHarness, settings: Settings, test: &str) -> Tally {
    if let (Some(folder), Ok(partition)) = (env::var_os(FOLDER), env::var(PARTITION)) {
        runtime().block_on(async {
            let stores = harness.open_in(Path::new(&folder)).await;
            write(stores, &partition).await;
        });
        process::exit(1);
    }
    rounds(
        settings,
        async |namespace: &str, _| {
            let folder = env::temp_dir().join(namespace);
            fs::create_dir(&folder).expect("a new folder");
            Folder(folder)
        },
        async |Folder(folder), seed| {
            let partition = format!("{seed}");
            let mut writer = Writer::start(test, folder, &partition);
            writer.reach(Rng::with_seed(seed).usize(1..=MOST_SAID));
            writer.kill();
            let stores = harness.open_in(folder).await;
            let mut tally = Tally {
                crashes: 1,
                ..Tally::default()
            };
            for task in 0..TASKS {
                let said = writer.said.get(&task).copied().unwrap_or_default();
                tally.operations += 3 * said;
                let wrong = judge(&stores, &partition, task, said).await;
                tally.violations.extend(wrong.map(|(anomaly, shown)| {
                    let shown = format!("task {task} had said {said}: {shown}");
                    Violation::new(anomaly, seed, shown)
                }));
            }
            tally
        },
    )
}

fn key(partition: &str, task: u64, what: &str) -> Key {
    Key::new(partition, format!("{task:02}/{what}")).expect("a key")
}

fn claim(partition: &str, task: u64, round: u64) -> ChangeRecord {
    let key = ChangeKey::new(partition, task.to_string(), format!("{round:06}"));
    ChangeRecord::new(key.expect("a key"), Metadata::default(), Timestamp::EPOCH)
}

/// Each task claims, puts and counts, and says after each round how many it has made.
async fn write(stores: Stores, partition: &str) {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (stores, partition) = (stores.clone(), partition.to_owned());
        tasks.spawn(async move {
            for round in 1.. {
                round_of(&stores, &partition, task, round)
                    .await
                    .expect("nothing is in its way");
                let mut stdout = std::io::stdout().lock();
                // The full stop says that the line is whole.
                writeln!(stdout, "{partition} {task} {round}.").expect("said");
                stdout.flush().expect("flushed");
            }
        });
    }
    tasks.join_all().await;
}

async fn round_of(stores: &Stores, partition: &str, task: u64, round: u64) -> Result<()> {
    let created = stores.changes.create(claim(partition, task, round)).await?;
    assert_eq!(created, CreateOutcome::Created);
    let record = NewRecord::new(key(partition, task, "record"), round.to_string())?;
    stores.documents.put(record, Condition::None).await?;
    let counter = key(partition, task, "counter");
    stores.documents.increment(&counter, 1, None).await?;
    Ok(())
}

/// What is wrong with what a task has left behind.
async fn judge(
    stores: &Stores,
    partition: &str,
    task: u64,
    said: u64,
) -> Option<(Anomaly, String)> {
    let left = async {
        let (uri, record) = (task.to_string(), key(partition, task, "record"));
        let counter = key(partition, task, "counter");
        let claims = stores.changes.get_by_uri(partition, &uri).await?;
        let record = stores.documents.find(&record).await?;
        let count = stores.documents.increment(&counter, 0, None).await?;
        Ok::<_, Error>((claims, record, count))
    };
    let (claims, record, count) = match left.await {
        Ok(left) => left,
        Err(error) => return Some((Anomaly::Unhealthy, format!("{error:?}"))),
    };
    let made = (1..).zip(&claims);
    let are_whole = made
        .into_iter()
        .all(|(round, made)| *made == claim(partition, task, round));
    let version = record.as_ref().map_or(0, |record| record.version.get());
    let is_whole = record.is_none_or(|record| record.data == version.to_string());
    let (claims, count) = (claims.len() as u64, count.unsigned_abs());
    let shown = format!("{claims} claims, a record of version {version}, a count of {count}");
    if claims < said || version < said || count < said {
        return Some((Anomaly::SwallowedFailure, shown));
    }
    // One after the other: what comes later in a round is there only if what comes before is.
    let is_in_order = said + 1 >= claims && claims >= version && version >= count;
    (!(are_whole && is_whole && is_in_order)).then_some((Anomaly::WrongAnswer, shown))
}

/// The process that writes.
struct Writer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    partition: String,
    /// The last round of each task that was acknowledged.
    said: BTreeMap<u64, u64>,
}

impl Writer {
    fn start(test: &str, folder: &Path, partition: &str) -> Self {
        let (_crate, test) = test.split_once("::").expect("a test's path");
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args([test, "--exact", "--include-ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(PARTITION, partition)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self {
            child,
            lines,
            partition: partition.to_owned(),
            said: BTreeMap::new(),
        }
    }

    /// Waits until it has said so much.
    fn reach(&mut self, mut said: usize) {
        while said > 0 {
            let line = self.lines.next().expect("it writes on").expect("text");
            said -= usize::from(self.note(&line).is_some());
        }
    }

    /// By `SIGKILL`; then what it had still said.
    fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
        while let Some(Ok(line)) = self.lines.next() {
            self.note(&line);
        }
    }

    /// Takes a line, if it is one of the writer's and whole: the test's program says other things too.
    fn note(&mut self, line: &str) -> Option<()> {
        let line = line.strip_suffix('.')?;
        let (task, round) = line.strip_prefix(&self.partition)?.trim().split_once(' ')?;
        self.said.insert(task.parse().ok()?, round.parse().ok()?);
        Some(())
    }
}

/// Nothing of a process that a failed test started is left over.
impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
