//! Two processes with 64 tasks each on one database.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use changestore_core::{
    ChangeStore as _, CreateOutcome, DocumentStore as _, DocumentStoreExt as _, NewRecord,
};
use changestore_sql::PostgresStore;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::server::{Schema, claim, key};

/// The schema to work in; whoever finds it in his environment is one of the two.
const VARIABLE: &str = "CHANGESTORE_TEST_SCHEMA";
const TASKS: usize = 64;
const STEPS: usize = 10;
/// Claims that all tasks of both processes want to create.
const SHARED: usize = 40;

/// Does its part and returns true, in a process that was started for it.
pub(crate) fn play_role() -> bool {
    let Ok(schema) = std::env::var(VARIABLE) else {
        return false;
    };
    Runtime::new().expect("a runtime").block_on(async {
        let store = Schema(schema).store().await;
        say("ready");
        let mut word = String::new();
        std::io::stdin().read_line(&mut word).expect("a word");
        say(&contend(&store).await.to_string());
    });
    true
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").expect("said");
    stdout.flush().expect("flushed");
}

/// Every task increments the counter, creates the shared claims, and updates the record once by
/// compare-and-set; how many claims were new.
async fn contend(store: &PostgresStore) -> usize {
    let created = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (store, created) = (store.clone(), Arc::clone(&created));
        tasks.spawn(async move {
            for step in 0..STEPS {
                store.increment(&key("n"), 1, None).await.expect("counted");
                let request = format!("r{}", (task + step) % SHARED);
                let outcome = store.create(claim(&request)).await.expect("created");
                if outcome == CreateOutcome::Created {
                    created.fetch_add(1, Ordering::Relaxed);
                }
            }
            let next = |_: Option<&_>| Ok(Some(NewRecord::new(key("r"), "data")?));
            store.update(&key("r"), next).await.expect("updated");
        });
    }
    tasks.join_all().await;
    created.load(Ordering::Relaxed)
}

/// Nothing of a process that a failed test started is left over.
struct Actor(Child);

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) async fn two_processes_of_64_tasks_never_disagree() {
    let schema = Schema::new().await;
    let mut actors: Vec<Actor> = (0..2)
        .map(|_| {
            let program = std::env::current_exe().unwrap();
            let child = Command::new(program)
                .env(VARIABLE, &schema.0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            Actor(child.unwrap())
        })
        .collect();
    let mut lines: Vec<_> = actors
        .iter_mut()
        .map(|actor| BufReader::new(actor.0.stdout.take().unwrap()).lines())
        .collect();
    for lines in &mut lines {
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
    }
    for actor in &mut actors {
        actor.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }
    let created: usize = lines
        .iter_mut()
        .map(|lines| {
            lines
                .next()
                .expect("no task failed")
                .unwrap()
                .parse::<usize>()
                .unwrap()
        })
        .sum();
    assert_eq!(created, SHARED);
    let store = schema.store().await;
    let counted = i64::try_from(2 * TASKS * STEPS).unwrap();
    assert_eq!(store.increment(&key("n"), 0, None).await.unwrap(), counted);
    let versions = u64::try_from(2 * TASKS).unwrap();
    assert_eq!(store.get(&key("r")).await.unwrap().version.get(), versions);
    assert_eq!(
        store.get_by_uri("queue", "uri").await.unwrap().len(),
        SHARED
    );
    schema.drop().await;
}
