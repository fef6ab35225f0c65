//! A long-lived Python process that runs the contract's own reader SQL.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What Python is asked and answers, a line of JSON each.
pub(crate) struct Oracle {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The folder of the example.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

impl Oracle {
    pub(crate) fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract_reader/oracle.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(examples())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("these tests compare with a reader in Python: python3 must be installed");
        Self {
            requests: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.requests.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).expect("the Python process has ended");
        assert!(
            answer.get("error").is_none(),
            "{} of {request}",
            answer["error"]
        );
        answer
    }

    pub(crate) fn poll(&mut self, file: &Path, family: &str, cursor: &Value) -> Value {
        self.ask(&json!({"do": "poll", "file": file, "family": family, "cursor": cursor}))
    }

    pub(crate) fn write(&mut self, file: &Path, statements: &[String]) {
        self.ask(&json!({"do": "write", "file": file, "statements": statements}));
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // The end of its input is the end of the process.
        self.requests = None;
        let _ = self.child.wait();
    }
}
