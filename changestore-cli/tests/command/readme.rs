//! The README's sessions, run line by line.

use super::*;

const FAULTS: &str = r#"{"event":"submit","queue":"main","request_id":"main/7","uris":["github://github.com/o/r/pull/7/3f1c"],"at":1768328247000}
{"event":"submit","queue":"main","request_id":"main/8","at":1768328247000}
{"event":"finish","queue":"main","request_id":"main/9","state":"landed","at":1768328307000}
{"event":"submit","queue":"main","request_id":"main/7","uris":["github://github.com/o/r/pull/8/a1b2"],"at":1768328247000}
"#;

/// The names of numbers that another run or another file has others of.
const OWN_NUMBERS: [&str; 4] = ["device", "inode", "born_ns", "schema_version"];

/// A command and the lines that it is said to print.
struct Step<'a> {
    command: &'a str,
    printed: Vec<&'a str>,
}

fn steps(readme: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut in_session = false;
    for line in readme.lines() {
        match line {
            "```console" => in_session = true,
            "```" => in_session = false,
            _ if !in_session => {}
            _ => match line.strip_prefix("$ ") {
                Some(command) => steps.push(Step {
                    command,
                    printed: Vec::new(),
                }),
                None => steps.last_mut().unwrap().printed.push(line),
            },
        }
    }
    steps
}

/// What differs from run to run, made the same: etags, epochs, times, the identity of a file, and SQLite's count
/// of schema changes.
fn normalized(line: &str) -> String {
    let mut words = Vec::new();
    let line = line.replace("schema version ", "schema_version ");
    let mut is_own = false;
    for word in line.split_inclusive([' ', '"', ',', ':']) {
        let (text, end) = word.split_at(word.trim_end_matches([' ', '"', ',', ':']).len());
        let is_etag = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_millis = text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_hour = text.len() == 13 && text.as_bytes()[10] == b'T';
        let is_now = is_millis || is_hour;
        words.push(if is_etag {
            "ETAG"
        } else if is_now {
            "NOW"
        } else if is_own {
            text.trim_start_matches(|char: char| char.is_ascii_alphanumeric())
        } else {
            text
        });
        // The number stands behind the name's quote and colon.
        if !text.is_empty() {
            is_own = OWN_NUMBERS.contains(&text);
        }
        words.push(end);
    }
    let line = words.concat();
    // The rest of an RFC 3339 time, behind its first colon.
    match line.split_once("NOW:") {
        Some((before, _)) if !line.starts_with('{') => format!("{before}NOW"),
        _ => line,
    }
}

/// Whether the lines are as printed, where `…` stands for any lines.
fn matches(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed.first() == Some(first) && matches(rest, &printed[1..]),
    }
}

#[cfg(unix)]
#[test]
fn every_session_prints_what_it_says() {
    let place = Workplace::new();
    fs::copy(sample(), place.path("land-events.jsonl")).unwrap();
    place.write("faults.jsonl", FAULTS);
    let folder = Path::new(env!("CARGO_BIN_EXE_changestore"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let steps = steps(include_str!("../../README.md"));
    assert!(steps.len() > 15);
    for Step { command, printed } in steps {
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(place.folder.path())
            .env("PATH", &path)
            .env_remove("CHANGESTORE_STORE")
            .output()
            .unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let actual: Vec<String> = output.lines().map(normalized).collect();
        let expected: Vec<String> = printed.into_iter().map(normalized).collect();
        assert!(matches(&expected, &actual), "$ {command}\n{output}");
    }
}
