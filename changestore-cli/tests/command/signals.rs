//! Ctrl-C, SIGTERM, and the largest file that is allowed.

use std::io::{BufRead, BufReader, Read};

use super::crash::Fed;
use super::*;

const OK: &str = r#"{"event":"submit","queue":"q","request_id":"r1","uris":["u1"],"at":1}"#;

fn send(signal: &str, run: &Fed) {
    let pid = run.child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
    assert!(sent.success());
}

/// What the run says and answers once nothing more is sent to it.
fn end(run: Fed) -> (Vec<String>, Ran) {
    let answers = run.answers.map(Result::unwrap).collect();
    (answers, Ran::new(run.child.wait_with_output().unwrap()))
}

#[test]
fn a_first_signal_finishes_what_was_begun_and_says_how_far_it_came() {
    let events = fs::read_to_string(sample()).unwrap();
    let lines: Vec<&str> = events.split_inclusive('\n').collect();
    for (signal, status, again, word) in [
        ("-INT", 130, "press Ctrl-C again to quit now", "interrupted"),
        ("-TERM", 143, "a second SIGTERM quits now", "terminated"),
    ] {
        let place = Workplace::new();
        let mut run = Fed::start(&place);
        run.feed(&lines[..10]);
        assert_eq!(run.wait_for_answers(10).len(), 10);
        send(signal, &run);
        let (rest, ended) = end(run);
        let summary = "5 requests: 5 claimed, 0 duplicates; 5 finished; 0 errors";
        assert_eq!(rest, [summary]);
        assert_eq!(ended.status, Some(status), "{ended:?}");
        let expected = format!("finishing the events in hand; {again}\nerror: {word}\n");
        assert_eq!(ended.stderr, expected);
        assert!(!place.dump().iter().any(|row| row.starts_with("VALIDATE#")));
    }
}

/// A run that has answered one event and waits for another process to let go of the store.
fn waiting_for_a_lock(place: &Workplace) -> (Fed, rusqlite::Connection) {
    let mut run = Fed::start(place);
    run.feed(&[OK, "\n"]);
    assert_eq!(run.wait_for_answers(1).len(), 1);
    let lock = rusqlite::Connection::open(place.path("changestore.db")).unwrap();
    lock.busy_timeout(std::time::Duration::from_mins(1))
        .unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    run.feed(&[&OK.replace("r1", "r2").replace("u1", "u2"), "\n"]);
    (run, lock)
}

/// Sends Ctrl-C and waits until it is said what happens now, while the store is still locked.
fn interrupt(run: &mut Fed) -> BufReader<std::process::ChildStderr> {
    let mut stderr = BufReader::new(run.child.stderr.take().unwrap());
    send("-INT", run);
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    let expected = "finishing the events in hand; press Ctrl-C again to quit now\n";
    assert_eq!(said, expected);
    stderr
}

#[test]
fn a_second_signal_ends_a_run_that_waits_for_a_lock() {
    let place = Workplace::new();
    let (mut run, lock) = waiting_for_a_lock(&place);
    let mut stderr = interrupt(&mut run);
    send("-INT", &run);
    let (answers, ended) = end(run);
    assert_eq!((ended.status, answers), (Some(130), Vec::new()));
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    lock.execute_batch("ROLLBACK").unwrap();
    // What was left in the middle is put right.
    let again = OK.replace("r1", "r3");
    let ran = place.run_with_input(["validate"], again.as_bytes());
    assert!(ran.ok().contains("duplicate  r3  of r1, u1"));
}

#[test]
fn after_a_first_signal_a_run_waits_for_its_lock_and_finishes() {
    let place = Workplace::new();
    let (mut run, lock) = waiting_for_a_lock(&place);
    let mut stderr = interrupt(&mut run);
    lock.execute_batch("ROLLBACK").unwrap();
    let (answers, ended) = end(run);
    assert_eq!(ended.status, Some(130));
    // The second event may not have been in hand yet.
    let summary = answers.last().unwrap();
    assert!(
        summary.ends_with("0 duplicates; 0 finished; 0 errors"),
        "{answers:?}"
    );
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "error: interrupted\n");
}

/// The command with no file longer than so many KiB.
fn limited(place: &Workplace, kib: u32, arguments: &str) -> Ran {
    let binary = env!("CARGO_BIN_EXE_changestore");
    let script = format!("ulimit -f {}; exec {binary} {arguments}", kib * 2);
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .current_dir(place.folder.path())
        .env_remove("CHANGESTORE_STORE")
        .stdin(Stdio::null());
    Ran::new(command.output().unwrap())
}

#[test]
fn a_store_at_the_limit_of_a_file_is_a_failure_that_is_reported() {
    let place = Workplace::new();
    fs::copy(sample(), place.path("events.jsonl")).unwrap();
    let ran = limited(&place, 100, "validate events.jsonl");
    assert!(ran.last_line().ends_with("1 error"), "{ran:?}");
    let message = ran.failed(1);
    assert!(message.starts_with("error: handling line"), "{message}");
    assert!(message.contains("caused by: sqlite: "), "{message}");

    let ran = place.run(["validate", "events.jsonl"]);
    let whole = "424 requests: 359 claimed, 65 duplicates; 424 finished; 0 errors";
    assert!(ran.last_line().starts_with(whole), "{ran:?}");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_output_at_the_limit_of_a_file_is_a_failure_that_is_reported() {
    let place = Workplace::new();
    place.write("data", "x".repeat(300 * 1024));
    place.run(["doc", "put", "a", "b", "@data"]).ok();
    let message = limited(&place, 100, "doc get a b --raw > out").failed(1);
    assert!(
        message.starts_with("error: cannot write the output\n"),
        "{message}"
    );
}
