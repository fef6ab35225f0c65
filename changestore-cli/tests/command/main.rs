//! The binary as users run it: arguments in; exit status, stdout and stderr out.

#[cfg(feature = "bigtable")]
mod bigtable;
mod changes;
mod claims;
mod contract;
mod contract_file;
mod crash;
mod documents;
#[cfg(feature = "dynamodb")]
mod dynamodb;
mod follow;
mod memory;
mod pipes;
mod readme;
mod sample;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod servers;
#[cfg(unix)]
mod signals;
mod slips;
mod usage;
mod validate;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with a store of its own.
struct Workplace {
    folder: TempDir,
}

/// What a run left.
#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Workplace {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The command in this folder, where the default store is.
    fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_changestore"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("CHANGESTORE_STORE")
            .stdin(Stdio::null());
        command
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        Ran::new(self.command(arguments).output().unwrap())
    }

    fn run_with_input<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The command may end before it has read everything.
            scope.spawn(move || stdin.write_all(input));
            Ran::new(child.wait_with_output().unwrap())
        })
    }

    /// Every row of the default store, without the etags, which no two runs share.
    fn dump(&self) -> Vec<String> {
        let database = rusqlite::Connection::open(self.path("changestore.db")).unwrap();
        let mut dump = Vec::new();
        for query in [
            "SELECT * FROM changestore_claims ORDER BY queue, uri, request_id",
            "SELECT pk, sk, version, data, expire_at, counter
             FROM changestore_documents ORDER BY pk, sk",
        ] {
            let mut statement = database.prepare(query).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let values = (0..columns).map(|column| match row.get_ref(column).unwrap() {
                    rusqlite::types::ValueRef::Blob(bytes)
                    | rusqlite::types::ValueRef::Text(bytes) => {
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                    other => format!("{other:?}"),
                });
                dump.push(values.collect::<Vec<_>>().join(" | "));
            }
        }
        dump
    }
}

impl Ran {
    fn new(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Its output, of a run that succeeded without a word on stderr.
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.status, Some(0), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        self.stdout
    }

    /// Its messages, of a run that ended so.
    #[track_caller]
    fn failed(self, status: i32) -> String {
        assert_eq!(self.status, Some(status), "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        self.stderr
    }

    fn last_line(&self) -> &str {
        self.stdout.lines().last().unwrap_or_default()
    }
}

#[track_caller]
fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data/land-events.jsonl")
}
