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
        (text("{}"), "missing field `event` at column 2"),
        (
            text(r#"{"event":"cancel","queue":"q"}"#),
            "unknown variant `cancel`, expected `submit` or `finish` at column 17",
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
            "invalid type: string \"u1\", expected a sequence",
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
            "invalid type: string \"now\", expected i64",
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
    for (at, (message, (_, reason))) in messages.lines().zip(&faults).enumerate() {
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
{"event":"\u001b[31m"}"#;
    let ran = place.run_with_input(["validate"], file.as_bytes());
    assert!(ran.stdout.contains("claimed    \\u{1b}[2J\\n\n"), "{ran:?}");
    let message = ran.failed(1);
    assert!(
        message.contains("unknown variant `\\u{1b}[31m`"),
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
    let message = place.run(["validate", "nope.jsonl"]).failed(1);
    assert!(
        message.starts_with("error: cannot open nope.jsonl\n  caused by: "),
        "{message}"
    );
    let message = place.run(["validate", "."]).failed(1);
    assert!(message.starts_with("error: cannot read ."), "{message}");
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
