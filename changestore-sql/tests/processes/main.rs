//! Several processes on one file, one that is killed, one whose disk is full, one that may only
//! read, and a log that is torn.
//!
//! The program starts itself again in a role ([`roles`]); hence its own `main`, with the options and
//! the output of any other test program.

mod full;
mod locked;
mod roles;
mod torn;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use changestore_core::{ChangeStore as _, DocumentStore as _};
use changestore_sql::SqliteStore;
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use roles::{Role, SHARED, STEPS, TASKS, counter};

fn main() {
    if let Some((role, path)) = Role::from_environment() {
        role.play(&path);
        return;
    }
    let trial = |name, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    };
    let trials = vec![
        trial(
            "two_processes_write_one_file_without_an_error",
            two_processes,
        ),
        trial("what_was_acknowledged_survives_a_kill", a_kill),
        trial(
            "on_a_full_disk_every_write_is_told_and_nothing_is_half_there",
            full::a_full_disk,
        ),
        trial(
            "a_file_or_folder_that_may_only_be_read_is_read_and_every_write_is_told",
            locked::a_file_that_may_only_be_read,
        ),
        trial("of_a_torn_log_a_whole_beginning_is_left", torn::a_torn_log),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A process in a role.
struct Actor {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Actor {
    fn start(role: Role, path: &str) -> Self {
        Self::start_by(Command::new(std::env::current_exe().unwrap()), role, path)
    }

    fn start_by(mut command: Command, role: Role, path: &str) -> Self {
        let mut child = command
            .env(Role::VARIABLE, role.name())
            .env(Role::PATH_VARIABLE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("a line").unwrap()
    }

    /// Lets it go on.
    fn go(&mut self) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n").unwrap();
    }
}

/// Nothing of a process that a failed test started is left over.
impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn file() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("changestore.db");
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// Both open a new file at once, and then write it with all their tasks.
fn two_processes() {
    let (_folder, path) = file();
    let mut actors = [(); 2].map(|()| Actor::start(Role::Contender, &path));
    for actor in &mut actors {
        assert_eq!(actor.line(), "ready");
    }
    actors.iter_mut().for_each(Actor::go);
    let mut created = 0;
    for actor in &mut actors {
        created += actor.line().parse::<usize>().unwrap();
        assert!(actor.child.wait().unwrap().success());
    }
    assert_eq!(
        created, SHARED,
        "each claim was created by one of all tasks"
    );
    Runtime::new().unwrap().block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let claims = store.get_by_uri("queue", "uri").await.unwrap();
        assert_eq!(claims.len(), SHARED);
        let total = store.increment(&counter(), 0, None).await.unwrap();
        assert_eq!(total, i64::try_from(2 * TASKS * STEPS).unwrap());
        let record = store.get(&roles::record()).await.unwrap();
        assert_eq!(usize::try_from(record.version.get()).unwrap(), 2 * TASKS);
    });
}

/// Killed in the middle of its writes; whatever it was told is there.
fn a_kill() {
    let (_folder, path) = file();
    let mut actor = Actor::start(Role::Acknowledger, &path);
    assert_eq!(actor.line(), "ready");
    actor.go();
    let mut acknowledged: BTreeSet<String> = (0..500).map(|_| actor.line()).collect();
    actor.child.kill().unwrap();
    // What it had still said. The last line may be cut short.
    acknowledged.extend(actor.lines.by_ref().map_while(Result::ok));
    Runtime::new().unwrap().block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let claims = store.get_by_uri("queue", "uri").await.unwrap();
        let stored: BTreeSet<&str> = claims.iter().map(|claim| claim.key.request_id()).collect();
        for request_id in acknowledged.iter().filter(|line| line.ends_with('.')) {
            assert!(
                stored.contains(request_id.as_str()),
                "{request_id} was lost"
            );
        }
    });
}
