//! The land requests of the repository's sample data.

use super::*;

const SUMMARY: &str = "424 requests: 359 claimed, 65 duplicates; 424 finished; 0 errors";

#[test]
fn a_second_run_answers_the_same_and_changes_nothing() {
    let place = Workplace::new();
    let file = sample();
    let arguments = [OsStr::new("validate"), file.as_os_str()];
    let first = place.run(arguments);
    assert_eq!(first.last_line(), SUMMARY);
    let first = first.ok();
    let stored = place.dump();
    let requests = stored
        .iter()
        .filter(|row| row.starts_with("REQUEST#uber/submitqueue/main | "));
    assert_eq!(requests.count(), 424);
    assert!(!stored.iter().any(|row| row.starts_with("VALIDATE#")));
    let bytes = fs::read(place.path("changestore.db")).unwrap();

    let second = place.run(arguments);
    let again = format!("{SUMMARY} (848 events redelivered, nothing changed)");
    assert_eq!(second.last_line(), again);
    let second = second
        .ok()
        .replace("  (redelivered)", "")
        .replace(&again, SUMMARY);
    assert_eq!(second, first);
    assert_eq!(place.dump(), stored);
    assert_eq!(fs::read(place.path("changestore.db")).unwrap(), bytes);
}

#[test]
fn memory_and_sqlite_answer_the_same() {
    let place = Workplace::new();
    let file = sample();
    let run = |store: &str| {
        let arguments = ["--json", "--store", store, "validate"].map(OsStr::new);
        place
            .run(arguments.into_iter().chain([file.as_os_str()]))
            .ok()
    };
    let answers = run("mem:");
    assert_eq!(run("sqlite:other.db?synchronous=normal"), answers);

    let lines: Vec<_> = answers.lines().map(json).collect();
    assert_eq!(lines.len(), 849);
    let count = |verdict: &str| {
        lines
            .iter()
            .filter(|line| line["verdict"] == verdict)
            .count()
    };
    assert_eq!(
        (count("claimed"), count("duplicate"), count("finished")),
        (359, 65, 424)
    );
    let summary = r#"{"summary":{"requests":424,"claimed":359,"duplicates":65,"finished":424,"errors":0,"events":848,"redelivered":0}}"#;
    assert_eq!(lines[848], json(summary));
}

#[test]
fn the_file_twice_in_one_run_counts_each_request_once() {
    let place = Workplace::new();
    let twice = fs::read(sample()).unwrap().repeat(2);
    let ran = place.run_with_input(["--store", "mem:", "validate", "-"], &twice);
    assert_eq!(
        ran.last_line(),
        format!("{SUMMARY} (848 events redelivered)")
    );
    ran.ok();
}

#[test]
fn two_processes_at_once_are_as_one() {
    let place = Workplace::new();
    let file = sample();
    let arguments = [
        OsStr::new("--json"),
        OsStr::new("validate"),
        file.as_os_str(),
    ];
    let alone = place.run(arguments).ok();
    let stored = place.dump();

    let place = Workplace::new();
    let start = || {
        place
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let children = [start().unwrap(), start().unwrap(), start().unwrap()];
    for child in children {
        let together = Ran::new(child.wait_with_output().unwrap()).ok();
        for (together, alone) in together.lines().zip(alone.lines()).take(848) {
            assert_eq!(together.replace(":true}", ":false}"), alone);
        }
    }
    assert_eq!(place.dump(), stored);
}
