//! Two processes with 64 tasks each on one database: every clause on concurrency holds, and none of their
//! operations fails.
//!
//! The program starts itself again as each of the two; hence its own `main`, with the options and the output of any
//! other test program.

mod contender;
mod killed;
#[path = "../support/killed.rs"]
mod writer;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use changestore_core::{ChangeStore as _, DocumentStore as _};
use changestore_sql::{MySqlOptions, MySqlStore};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use contender::{LEASES, SHARED, STEPS, TASKS, URL, counter, lease, record};

fn main() {
    if let Ok(url) = std::env::var(URL) {
        contender::run(&url);
        return;
    }
    if killed::play_role() {
        return;
    }
    let trial = |name, test: fn()| {
        let trial = Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        });
        trial.with_ignored_flag(true)
    };
    let trials = vec![
        trial("two_processes_on_one_database", two_processes),
        trial(
            "what_was_acknowledged_survives_a_kill_of_the_process",
            killed::what_was_acknowledged_survives_a_kill_of_the_process,
        ),
        trial(
            "what_was_acknowledged_survives_a_kill_of_both",
            killed::what_was_acknowledged_survives_a_kill_of_both,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(url: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .env(URL, url)
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
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn two_processes() {
    let server = engines::mariadb::start().unwrap();
    let url = server.url();
    let runtime = Runtime::new().unwrap();
    let options = MySqlOptions::new(&url).unwrap();
    let migrated = MySqlStore::migrate_with(options);
    runtime.block_on(migrated).unwrap();
    let mut processes = [(); 2].map(|()| Process::start(&url));
    for process in &mut processes {
        assert_eq!(process.line(), "ready");
    }
    processes.iter_mut().for_each(Process::go);
    let (mut created, mut leased) = (0, 0);
    for process in &mut processes {
        created += process.line().parse::<usize>().unwrap();
        leased += process.line().parse::<usize>().unwrap();
        assert!(process.child.wait().unwrap().success());
    }
    assert_eq!(created, SHARED, "each claim was created once");
    assert_eq!(leased, LEASES, "each lease was taken once");
    runtime.block_on(async {
        let store = MySqlStore::open(&url).await.unwrap();
        let claims = store.get_by_uri("queue", "uri").await.unwrap();
        assert_eq!(claims.len(), SHARED);
        let total = store.increment(&counter(), 0, None).await.unwrap();
        assert_eq!(total, i64::try_from(2 * TASKS * STEPS).unwrap());
        let updated = store.get(&record()).await.unwrap();
        assert_eq!(
            usize::try_from(updated.version.get()).unwrap(),
            2 * TASKS,
            "no update was lost"
        );
        for number in 0..LEASES {
            assert_eq!(store.get(&lease(number)).await.unwrap().version.get(), 1);
        }
    });
}
