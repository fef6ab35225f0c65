//! A process that is killed while it writes, alone or together with its server: what it had said was acknowledged
//! is there, and of the rest at most what was on its way.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore,
    DocumentStoreExt as _, Key, Metadata, NewRecord, QueryOptions, Timestamp,
};
use tokio::task::JoinSet;

/// The store to write to; whoever finds it in his environment is the process that is killed.
const URL: &str = "CHANGESTORE_TEST_KILLED_URL";
const TASKS: usize = 16;

pub(crate) fn url_of_role() -> Option<String> {
    env::var(URL).ok()
}

fn key(task: usize, what: &str) -> Key {
    Key::new("killed", format!("{task:02}/{what}")).expect("a key")
}

/// Each task claims, puts and counts, and says after each round how many it has made. It ends only by a failure, such as
/// that the server is gone.
pub(crate) async fn write<S: ChangeStore + DocumentStore + Clone>(store: S) {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            for round in 1.. {
                let claim = ChangeKey::new("killed", task.to_string(), format!("{round:06}"));
                let claim =
                    ChangeRecord::new(claim.expect("a key"), Metadata::default(), Timestamp::EPOCH);
                let record = NewRecord::new(key(task, "record"), round.to_string());
                let record = record.expect("a record");
                let done = async {
                    let created = store.create(claim).await?;
                    assert_eq!(created, CreateOutcome::Created);
                    store.put(record, Condition::None).await?;
                    store.increment(&key(task, "counter"), 1, None).await
                };
                if done.await.is_err() {
                    return;
                }
                let mut stdout = std::io::stdout().lock();
                // The full stop says that the line is whole.
                writeln!(stdout, "{task} {round}.").expect("said");
                stdout.flush().expect("flushed");
            }
        });
    }
    tasks.join_all().await;
}

/// The process that writes.
pub(crate) struct Writer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// The last round of each task that was acknowledged.
    rounds: BTreeMap<usize, i64>,
}

impl Writer {
    pub(crate) fn start(url: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .env(URL, url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            lines,
            rounds: BTreeMap::new(),
        }
    }

    /// Waits until it has done so much.
    pub(crate) fn reach(&mut self, rounds: usize) {
        for _ in 0..rounds {
            let line = self.lines.next().expect("it writes on").unwrap();
            self.note(&line);
        }
    }

    fn note(&mut self, line: &str) {
        let Some(line) = line.strip_suffix('.') else {
            return;
        };
        let (task, round) = line.split_once(' ').unwrap();
        self.rounds
            .insert(task.parse().unwrap(), round.parse().unwrap());
    }

    /// By `SIGKILL`; then what it had still said.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        while let Some(Ok(line)) = self.lines.next() {
            self.note(&line);
        }
    }

    /// All of it is there, and no more than one round of each task that it was killed in.
    pub(crate) async fn check<S: ChangeStore + DocumentStore>(self, store: &S) {
        assert_eq!(self.rounds.len(), TASKS, "each task has written");
        for (&task, &round) in &self.rounds {
            let may_be = round..=round + 1;
            let claims = store.get_by_uri("killed", &task.to_string()).await.unwrap();
            assert!(may_be.contains(&i64::try_from(claims.len()).unwrap()));
            for (n, claim) in claims.iter().enumerate() {
                assert_eq!(claim.key.request_id(), format!("{:06}", n + 1));
            }
            let record = store.get(&key(task, "record")).await.unwrap();
            assert!(may_be.contains(&record.version.as_i64()), "{record:?}");
            // Its version and its data are of the same write.
            assert_eq!(record.data, record.version.to_string());
            let count = store
                .increment(&key(task, "counter"), 0, None)
                .await
                .unwrap();
            assert!(may_be.contains(&count), "{count} of {round}");
        }
        let all = store.query_all("killed", "", QueryOptions::default());
        assert_eq!(all.await.unwrap().len(), TASKS);
    }
}

/// Nothing of a process that a failed test started is left over.
impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
