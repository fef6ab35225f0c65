//! `kill -9` at any moment, and a run of the same file afterwards.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::Duration;

use super::*;

const STORE: [&str; 2] = ["--store", "sqlite:changestore.db?synchronous=normal"];

/// A run whose input stays open, so that it is still there when it is killed.
pub(crate) struct Fed {
    pub(crate) child: Child,
    stdin: std::process::ChildStdin,
    pub(crate) answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Fed {
    pub(crate) fn start(place: &Workplace) -> Self {
        let mut child = place
            .command(STORE.iter().chain(&["validate", "-"]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    pub(crate) fn feed(&mut self, lines: &[&str]) {
        self.stdin.write_all(lines.concat().as_bytes()).unwrap();
    }

    pub(crate) fn wait_for_answers(&mut self, count: usize) -> Vec<String> {
        let answers = (&mut self.answers).map(Result::unwrap);
        let answers = answers.filter(|line| !line.starts_with("queue "));
        answers.take(count).collect()
    }

    /// SIGKILL, where there are signals.
    fn kill(mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert!(!status.success(), "it ended before it was killed");
    }
}

#[test]
fn killed_at_any_moment_and_run_again_is_as_one_run() {
    let events = fs::read_to_string(sample()).unwrap();
    let lines: Vec<&str> = events.split_inclusive('\n').collect();
    let validate = STORE.iter().chain(&["validate", "-"]);
    let whole = Workplace::new();
    let first = whole.run_with_input(validate.clone(), events.as_bytes());
    let summary = first.last_line();
    let expected = whole.dump();

    for point in 0..16 {
        let place = Workplace::new();
        // Three runs, each from the start of the file and killed a good way behind the one before.
        for step in 1..=3 {
            let answered = step * 150 + point * 11;
            let mut run = Fed::start(&place);
            run.feed(&lines[..answered]);
            assert_eq!(run.wait_for_answers(answered).len(), answered);
            run.feed(&lines[answered..answered + 200]);
            // Spreads the moments of death over what those lines take; nothing depends on it.
            std::thread::sleep(Duration::from_micros((point * 3 + step) as u64 * 400));
            run.kill();
        }
        let last = place.run_with_input(validate.clone(), events.as_bytes());
        assert!(last.last_line().starts_with(summary), "{last:?}");
        assert_eq!(place.dump(), expected, "point {point}");
    }
}

#[test]
fn what_is_answered_is_stored() {
    let events = fs::read_to_string(sample()).unwrap();
    let lines: Vec<&str> = events.split_inclusive('\n').collect();
    let place = Workplace::new();
    let mut run = Fed::start(&place);
    // Answers come while the input is still open.
    run.feed(&lines[..1]);
    let answers = run.wait_for_answers(1);
    run.kill();
    assert_eq!(answers, ["claimed    uber/submitqueue/main/1"]);
    place
        .run([
            "doc",
            "get",
            "REQUEST#uber/submitqueue/main",
            "uber/submitqueue/main/1",
        ])
        .ok();
}
