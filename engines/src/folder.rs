//! The temporary folder of a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::{Doing as _, Error, Result};
use crate::supervisor::Supervisor;
use crate::user::Unprivileged;

/// As many of the last lines of a log as an error repeats.
const LOG_LINES: usize = 30;

/// A folder with everything that a server has, its own and its user's.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    user: Unprivileged,
}

impl Folder {
    pub(crate) fn new(engine: &str, user: Unprivileged) -> Result<Self> {
        let name = format!("changestore-{}-", engine.to_lowercase());
        let folder = TempDir::with_prefix(name).doing("cannot make a temporary folder")?;
        user.give(folder.path())?;
        Ok(Self { folder, user })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file that the server reads.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.join(name);
        fs::write(&path, text).doing(format!("cannot write {}", path.display()))?;
        self.user.give(&path)?;
        Ok(path)
    }

    /// Starts a program as the server's user. It ends with this process at the latest, and if it still runs
    /// then, the folder goes with it.
    pub(crate) fn spawn(&self, command: &Command, stop_signal: &str) -> Result<Supervisor> {
        Supervisor::spawn(self.path(), stop_signal, &self.user.run(command))
    }

    /// Runs a program that prepares the server, to its end.
    pub(crate) fn run(&self, engine: &'static str, command: &Command) -> Result<()> {
        let status = self.spawn(command, "TERM")?.wait()?;
        if status.success() {
            return Ok(());
        }
        let program = Path::new(command.get_program()).display();
        Err(self.failed(engine, format!("{program}: {status}")))
    }

    /// An error with the end of the log.
    pub(crate) fn failed(&self, engine: &'static str, what: impl Into<String>) -> Error {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
        Error::Failed {
            engine,
            what: what.into(),
            log: last.join("\n"),
        }
    }

    /// What was written by all programs that ran in this folder.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(Supervisor::log(self.path())).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
