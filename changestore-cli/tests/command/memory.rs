//! `validate` streams: its memory does not grow with the file.

#[cfg(target_os = "linux")]
#[test]
fn a_hundred_thousand_events_take_less_than_100_mb() {
    use std::fmt::Write as _;
    use std::io::{BufRead, BufReader};

    use super::*;

    let place = Workplace::new();
    let mut events = String::new();
    for number in 0..50_000 {
        let uri = format!("github://github.com/o/r/pull/{number}/{number:040x}");
        writeln!(
            events,
            r#"{{"event":"submit","queue":"q","request_id":"q/{number}","uris":["{uri}"],"at":1}}"#
        )
        .unwrap();
        writeln!(
            events,
            r#"{{"event":"finish","queue":"q","request_id":"q/{number}","state":"landed","at":2}}"#
        )
        .unwrap();
    }
    let store = "sqlite:changestore.db?synchronous=normal";
    let mut child = place
        .command(["--json", "--store", store, "validate", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let peak = std::thread::scope(|scope| {
        scope.spawn(move || {
            stdin.write_all(events.as_bytes()).unwrap();
            // With the input open the process is still there when its peak is read.
            stdin.flush().unwrap();
            stdin
        });
        let answers = BufReader::new(&mut stdout).lines().take(100_000);
        assert_eq!(answers.map(Result::unwrap).count(), 100_000);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(peak < 100_000, "{peak} kB");
}
