//! `change-contract changes --follow`: each change as it happens.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};

use super::changes::{CHANGES, tracked};
use super::contract::contract;
use super::*;

/// A run with `--follow`.
struct Following {
    child: Child,
    /// None when nobody reads it any more.
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl Following {
    fn start(place: &Workplace, arguments: &str) -> Self {
        let arguments = arguments.split(' ').chain(["--follow"]);
        let mut child = place
            .command(["change-contract"].into_iter().chain(arguments))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            lines: Some(lines),
        }
    }

    fn line(&mut self) -> String {
        self.lines.as_mut().unwrap().next().unwrap().unwrap()
    }

    fn ended(mut self) -> Ran {
        let status = self.child.wait().unwrap();
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut stderr).unwrap();
        let rest: Vec<_> = self
            .lines
            .take()
            .into_iter()
            .flatten()
            .map(Result::unwrap)
            .collect();
        Ran {
            status: status.code(),
            stdout: rest.join("\n"),
            stderr,
        }
    }
}

/// Where a test has failed.
impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[cfg(unix)]
#[test]
fn each_claim_of_validate_is_seen_as_it_happens() {
    let place = Workplace::new();
    place.run(["schema", "apply"]).ok();
    let db = "--db changestore.db";
    let enable = "--track changestore_claims --family claims=changestore_claims";
    contract(&place, &format!("enable {db} {enable}")).ok();
    let changes = format!("changes {db} --family claims --cursor cursor");
    let mut following = Following::start(&place, &format!("{changes} --json"));
    assert_eq!(json(&following.line())["reason"], "no_cursor");

    let events = fs::read_to_string(sample()).unwrap();
    let validated = place.run_with_input(["--json", "validate"], events.as_bytes());
    assert_eq!(validated.status, Some(0));
    let claimed: usize = place
        .dump()
        .iter()
        .filter(|row| row.starts_with("uber/"))
        .count();
    assert!(claimed > 300, "{claimed}");
    let mut seen = BTreeSet::new();
    while seen.len() < claimed {
        let line = json(&following.line());
        if line["decision"] == "rows" {
            continue;
        }
        assert_eq!(line["operation"], "insert", "{line}");
        assert!(seen.insert(line["key"].to_string()), "seen twice: {line}");
    }
    let stored: BTreeSet<String> = claims(&place);
    assert_eq!(seen, stored);

    // The decision behind the last rows, then nothing until somebody ends it.
    assert_eq!(json(&following.line())["decision"], "rows");
    let pid = following.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let ended = following.ended();
    assert_eq!(
        (ended.status, &*ended.stdout, &*ended.stderr),
        (Some(130), "", "")
    );
    assert_eq!(contract(&place, &changes).ok(), "unchanged\n");
}

/// The keys of the default store's claims, as JSON.
fn claims(place: &Workplace) -> BTreeSet<String> {
    let database = rusqlite::Connection::open(place.path("changestore.db")).unwrap();
    let sql = "SELECT json_array(queue, uri, request_id) FROM changestore_claims";
    let mut statement = database.prepare(sql).unwrap();
    let keys = statement.query_map([], |row| row.get(0)).unwrap();
    keys.map(Result::unwrap).collect()
}

#[test]
fn a_follower_goes_on_at_its_cursor_and_ends_with_its_reader() {
    let place = Workplace::new();
    let database = tracked(&place);
    contract(&place, CHANGES).ok();
    database
        .execute_batch("UPDATE threads SET title = ''")
        .unwrap();
    let mut following = Following::start(&place, CHANGES);
    assert_eq!(following.line(), "update  threads  [1]");
    database
        .execute_batch("INSERT INTO threads VALUES (2, '')")
        .unwrap();
    assert_eq!(following.line(), "insert  threads  [2]");

    following.lines = None;
    database
        .execute_batch("INSERT INTO threads VALUES (3, '')")
        .unwrap();
    let ended = following.ended();
    assert_eq!((ended.status, &*ended.stderr), (Some(141), ""));
    assert_eq!(contract(&place, CHANGES).ok(), "insert  threads  [3]\n");
}

/// Nothing is written that could fail: the pipe itself tells.
#[cfg(unix)]
#[test]
fn an_idle_follower_ends_with_its_reader() {
    let place = Workplace::new();
    tracked(&place);
    let mut following = Following::start(&place, CHANGES);
    assert_eq!(following.line(), "rebuild  there is no cursor yet");
    following.lines = None;
    let ended = following.ended();
    assert_eq!((ended.status, &*ended.stderr), (Some(141), ""));
}

/// Where there is no pipe there is nobody to go away.
#[cfg(unix)]
#[test]
fn a_follower_writes_into_a_file() {
    let place = Workplace::new();
    let database = tracked(&place);
    let lines = fs::File::create(place.path("lines")).unwrap();
    let arguments = CHANGES.split(' ').chain(["--follow"]);
    let mut child = place
        .command(["change-contract"].into_iter().chain(arguments))
        .stdout(lines)
        .spawn()
        .unwrap();
    let written = || fs::read_to_string(place.path("lines")).unwrap();
    while !written().ends_with("no cursor yet\n") {
        std::thread::yield_now();
    }
    database
        .execute_batch("INSERT INTO threads VALUES (2, '')")
        .unwrap();
    while !written().ends_with("insert  threads  [2]\n") {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_cursor_that_is_followed_is_nobody_elses() {
    let place = Workplace::new();
    tracked(&place);
    let mut following = Following::start(&place, CHANGES);
    assert_eq!(following.line(), "rebuild  there is no cursor yet");
    let holder = format!("cursor is in use by process {}", following.child.id());
    for other in [CHANGES.to_owned(), format!("{CHANGES} --follow")] {
        let refused = contract(&place, &other);
        assert_eq!((refused.status, &*refused.stdout), (Some(1), ""));
        assert!(refused.stderr.contains(&holder), "{}", refused.stderr);
    }
    // Another cursor is another reader's.
    let another = CHANGES.replace("--cursor cursor", "--cursor another");
    contract(&place, &another).ok();

    // However it ends, the cursor is free.
    following.child.kill().unwrap();
    following.ended();
    contract(&place, CHANGES).ok();
}
