//! `validate` on files with faults.

use super::*;

const OK: &str = r#"{"event":"submit","queue":"q","request_id":"r1","uris":["u1"],"at":1}"#;

/// A broken line and what is said of it.
fn faults() -> Vec<(Vec<u8>, &'static str)> {
    let text = |line: &str| line.as_bytes().to_vec();
    let long = format!(r#"{{"event":"submit","x":"{}"}}"#, "x".repeat(1024 * 1024));
    let long_uri = format!(
        r#"{{"event":"submit","queue":"q","request_id":"x","uris":["{}"],"at":1}}"#,
        "u".repeat(769)
    );
    vec![
        (text("nonsense"), "not a JSON object"),
        (text("[1]"), "not a JSON object"),
        (
            text(r#"{"event":"submit""#),
            "EOF while parsing an object at column 17",
        ),
        (text("{}"), "missing field `event`"),
        (
            text(r#"{"event":"cancel","queue":"q"}"#),
            "event: expected \"submit\" or \"finish\"",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","at":1}"#),
            "missing field `uris`",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":["u1"]}"#),
            "missing field `at`",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":[],"at":1}"#),
            "uris is empty: a request lands at least one change",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":"u1","at":1}"#),
            "uris: expected an array of texts\n",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":["u1",5],"at":1}"#),
            "uris[1]: expected a text\n",
        ),
        (
            text(r#"{"event":"submit","queue":null,"request_id":"x","uris":["u1"],"at":1}"#),
            "queue: expected a text\n",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":5,"uris":["u1"],"at":1}"#),
            "request_id: expected a text\n",
        ),
        (
            text(r#"{"event":"finish","queue":"q","request_id":"r1","state":{},"at":1}"#),
            "state: expected a text\n",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"","uris":["u1"],"at":1}"#),
            "request_id is invalid: must not be empty",
        ),
        (
            text(&long_uri),
            "uris[0]: uri is too large: 769 bytes, at most 768 are allowed",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":["a\u0000"],"at":1}"#),
            "uris[0]: uri is invalid: must not contain NUL (found at byte 1)",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":["u1"],"at":-5}"#),
            "at is invalid: -5 ms is not between 1970 and the end of 9999",
        ),
        (
            text(
                r#"{"event":"submit","queue":"q","request_id":"x","uris":["u1"],"at":253402300800000}"#,
            ),
            "at is invalid: 253402300800000 ms is not between 1970 and the end of 9999",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"x","uris":["u1"],"at":"now"}"#),
            "at: expected a whole number of milliseconds since 1970\n",
        ),
        (
            text(r#"{"event":"submit","queue":"q","request_id":"r1","uris":["u2"],"at":1}"#),
            "conflict: request \"r1\" was submitted before with another list of uris",
        ),
        (
            text(r#"{"event":"finish","queue":"q","request_id":"x","state":"landed","at":1}"#),
            "finish of a request that was not submitted: \"x\" in queue \"q\"",
        ),
        (
            text(r#"{"event":"finish","queue":"q","request_id":"r1","state":"","at":1}"#),
            "state is empty",
        ),
        (text(&long), "longer than 1048576 bytes"),
        (
            b"{\"event\":\"submit\",\"queue\":\"\xff\"}".to_vec(),
            "not UTF-8 from byte 28 on",
        ),
    ]
}

#[test]
fn a_broken_line_is_named_and_ends_the_run() {
    for (line, reason) in faults() {
        let place = Workplace::new();
        let after = OK.replace("r1", "r2").replace("u1", "u9");
        let file = [OK.as_bytes(), b"\n\n", &line, b"\n", after.as_bytes()].concat();
        let ran = place.run_with_input(["validate"], &file);
        assert_eq!(
            ran.last_line(),
            "1 request: 1 claimed, 0 duplicates; 0 finished; 1 error"
        );
        let message = ran.failed(1);
        assert!(
            message.starts_with(&format!("error: line 3: {reason}")),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(place.dump().len(), 2, "{reason}");
    }
}

#[test]
fn keep_going_reports_each_and_does_the_rest() {
    let place = Workplace::new();
    let mut file = format!("{OK}\n").into_bytes();
    for (line, _) in faults() {
        file.extend(line);
        file.push(b'\n');
    }
    file.extend(OK.replace("r1", "r2").as_bytes());
    let ran = place.run_with_input(["validate", "--keep-going", "--json"], &file);
    let faults = faults();
    let summary = json(ran.last_line());
    assert_eq!(summary["summary"]["errors"], faults.len());
    assert_eq!(summary["summary"]["requests"], 2);
    let last = json(ran.stdout.lines().nth(1).unwrap());
    assert_eq!(last["line"], faults.len() + 2);
    assert_eq!(last["verdict"], "duplicate");
    assert_eq!(last["duplicate_of"], "r1");
    assert_eq!(last["duplicate_uri"], "u1");
    let messages = ran.failed(1);
    assert_eq!(messages.lines().count(), faults.len(), "{messages}");
    for (at, (message, (_, reason))) in messages.split_inclusive('\n').zip(&faults).enumerate() {
        let expected = format!("error: line {}: {reason}", at + 2);
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[test]
fn a_finish_that_says_otherwise_is_a_conflict_and_the_same_again_is_not() {
    let place = Workplace::new();
    let landed = r#"{"event":"finish","queue":"q","request_id":"r1","state":"landed","at":2}"#;
    let failed = landed.replace("landed", "failed");
    let file = format!("{OK}\n{landed}\n{landed}\n{failed}\n");
    let ran = place.run_with_input(["validate"], file.as_bytes());
    let expected = "queue q\n\
        claimed    r1\n\
        finished   r1  landed\n\
        finished   r1  landed  (redelivered)\n\
        1 request: 1 claimed, 0 duplicates; 1 finished; 1 error (1 event redelivered)\n";
    assert_eq!(ran.stdout, expected);
    let message = ran.failed(1);
    let reason = "conflict: request \"r1\" has finished as \"landed\" before, not as \"failed\"";
    assert_eq!(message, format!("error: line 4: {reason}\n"));
}

#[test]
fn a_duplicate_claims_nothing_and_may_finish() {
    let place = Workplace::new();
    let second = r#"{"event":"submit","queue":"q","request_id":"r2","uris":["u0","u1"],"at":2}"#;
    let third = r#"{"event":"submit","queue":"q","request_id":"r3","uris":["u0"],"at":3}"#;
    let other_queue = OK.replace(r#""q""#, r#""p""#);
    let finish =
        r#"{"event":"finish","queue":"q","request_id":"r2","state":"merged by hand","at":4}"#;
    let file = [OK, second, third, &other_queue, finish].join("\r\n");
    let ran = place.run_with_input(["validate"], file.as_bytes());
    let expected = "queue q\n\
        claimed    r1\n\
        duplicate  r2  of r1, u1\n\
        claimed    r3\n\
        queue p\n\
        claimed    r1\n\
        queue q\n\
        finished   r2  merged by hand\n\
        4 requests: 3 claimed, 1 duplicate; 1 finished; 0 errors\n";
    assert_eq!(ran.ok(), expected);
    let claims = place.run(["claim", "list", "q", "u0"]).ok();
    assert_eq!(claims, "r3  version 1  created 1970-01-01T00:00:00.003Z\n");
}

#[test]
fn names_cannot_command_the_terminal() {
    let place = Workplace::new();
    let file = r#"{"event":"submit","queue":"q","request_id":"\u001b[2J\n","uris":["u"],"at":1}
{"event":"finish","queue":"q","request_id":"\u001b[31m","state":"landed","at":1}"#;
    let ran = place.run_with_input(["validate"], file.as_bytes());
    assert!(ran.stdout.contains("claimed    \\u{1b}[2J\\n\n"), "{ran:?}");
    let message = ran.failed(1);
    assert!(
        message.contains(r#"not submitted: "\u{1b}[31m" in"#),
        "{message}"
    );
}

#[test]
fn an_empty_file_is_no_error_and_a_missing_one_is() {
    let place = Workplace::new();
    let nothing = "0 requests: 0 claimed, 0 duplicates; 0 finished; 0 errors\n";
    assert_eq!(place.run(["validate"]).ok(), nothing);
    assert_eq!(
        place
            .run_with_input(["validate", "-"], b"\xef\xbb\xbf\r\n\n")
            .ok(),
        nothing
    );
    let place = Workplace::new();
    let message = place.run(["validate", "nope.jsonl"]).failed(1);
    assert!(
        message.starts_with("error: cannot open nope.jsonl\n  caused by: "),
        "{message}"
    );
    let message = place.run(["validate", "."]).failed(1);
    assert_eq!(message, "error: cannot read .: it is a folder\n");
    let created = fs::read_dir(place.folder.path()).unwrap().count();
    assert_eq!(created, 0, "a file that is not there creates no store");
}

#[test]
fn a_store_that_fails_ends_the_run_even_when_it_keeps_going() {
    let place = Workplace::new();
    place.run_with_input(["validate"], OK.as_bytes()).ok();
    let store = "sqlite:changestore.db?mode=ro";
    let file = format!("{OK}\nbroken\n{}\n", OK.replace("r1", "r2"));
    let arguments = ["--store", store, "validate", "--keep-going"];
    let ran = place.run_with_input(arguments, file.as_bytes());
    let summary = "1 request: 1 claimed, 0 duplicates; 0 finished; 2 errors (1 event redelivered";
    assert!(ran.last_line().starts_with(summary), "{ran:?}");
    let message = ran.failed(1);
    let (_, message) = message.split_once("error: handling line 3\n").unwrap();
    assert!(
        message.starts_with("  caused by: sqlite: put "),
        "{message}"
    );
    assert!(message.contains("permission denied"), "{message}");
}

#[test]
fn the_uris_of_a_request_are_as_many_as_fit_into_its_record() {
    let place = Workplace::new();
    let uris: Vec<String> = (0..505)
        .map(|number| format!(r#""{number:0>768}""#))
        .collect();
    let line = |uris: &[String]| {
        let uris = uris.join(",");
        format!(r#"{{"event":"submit","queue":"q","request_id":"r","uris":[{uris}],"at":1}}"#)
    };
    let message = place
        .run_with_input(["validate"], line(&uris).as_bytes())
        .failed(1);
    let expected = "error: line 1: uris are too large: the request's record takes ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("at most 389120 are allowed"), "{message}");
    let ran = place.run_with_input(["validate"], line(&uris[..500]).as_bytes());
    assert_eq!(
        ran.ok(),
        "queue q\nclaimed    r\n1 request: 1 claimed, 0 duplicates; 0 finished; 0 errors\n"
    );
}
