//! Readers that go away.

use std::io::{BufRead, BufReader};

use super::*;

fn first_line_only(mut command: Command) -> (String, Ran) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (line, Ran::new(child.wait_with_output().unwrap()))
}

#[test]
fn a_reader_that_goes_away_ends_the_command_without_a_word() {
    let place = Workplace::new();
    place.write("data", "x".repeat(384 * 1024));
    // 3 MB are more than any pipe holds.
    for sk in ["0", "1", "2", "3", "4", "5", "6", "7"] {
        place.run(["doc", "put", "p", sk, "@data"]).ok();
    }
    let (line, ran) = first_line_only(place.command(["doc", "query", "p"]));
    assert!(line.starts_with("0  v1  xxx"));
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(141), ""));
}

#[test]
fn validate_stops_where_nobody_reads_and_goes_on_when_run_again() {
    let place = Workplace::new();
    // Twenty times the sample's answers are more than any pipe holds.
    let events = fs::read(sample()).unwrap().repeat(20);
    let file = place.write("events.jsonl", events);
    let arguments = ["--json".as_ref(), "validate".as_ref(), file.as_os_str()];
    let (line, ran) = first_line_only(place.command(arguments));
    assert_eq!(json(&line)["verdict"], "claimed");
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(141), ""));
    let intents = ["doc", "query", "VALIDATE#uber/submitqueue/main", "--json"];
    assert_eq!(place.run(intents).ok(), "");
    let again = place.run(arguments);
    let summary = json(again.last_line());
    assert_eq!(summary["summary"]["claimed"], 359);
}
