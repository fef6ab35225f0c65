//! A process that does not outlive this one, however this one ends.
//!
//! Signal handlers and destructors do not run when a process is killed, and Linux's parent-death signal goes by
//! the thread that started the child, which in tests ends early. So a small shell script stands in
//! between and holds a pipe whose other end only this process has.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::{Doing as _, Result};

const SCRIPT: &str = include_str!("supervise.sh");

/// A running program and who watches over it. Dropped, it stops the program in an orderly way, waits for that,
/// and removes the folder, unless the program has ended before.
#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    program: Pid,
}

impl Supervisor {
    pub(crate) fn spawn(folder: &Path, stop_signal: &str, command: &Command) -> Result<Self> {
        let doing = || format!("cannot start {}", command.get_program().display());
        let script = folder.join("supervise.sh");
        fs::write(&script, SCRIPT).doing(doing())?;
        let mut supervise = Command::new("sh");
        supervise
            .arg(script)
            .arg(folder)
            .arg(stop_signal)
            .arg(command.get_program())
            .args(command.get_args())
            // Of nobody's terminal: Ctrl-C ends who started this, and that ends this.
            .process_group(0)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => supervise.env(name, value),
                None => supervise.env_remove(name),
            };
        }
        let mut shell = supervise.spawn().doing(doing())?;
        let mut line = String::new();
        if let Some(output) = shell.stdout.take() {
            BufReader::new(output).read_line(&mut line).doing(doing())?;
        }
        let program = line.trim().parse().map(Pid::from_raw);
        let program = program.map_err(std::io::Error::other).doing(doing())?;
        Ok(Self { shell, program })
    }

    /// Where the output of a folder's programs goes.
    pub(crate) fn log(folder: &Path) -> PathBuf {
        folder.join("log")
    }

    /// Whether the program has ended, and how.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.shell.try_wait().doing("cannot wait for a server")
    }

    /// Waits until the program has ended by itself.
    pub(crate) fn wait(mut self) -> Result<ExitStatus> {
        // `Child::wait` would close the input first, which is the order to end.
        let input = self.shell.stdin.take();
        let status = self.shell.wait();
        drop(input);
        status.doing("cannot wait for a program")
    }

    /// Ends the program with SIGKILL. The folder stays.
    pub(crate) fn kill(mut self) -> Result<()> {
        if self.ended()?.is_none() {
            match kill(self.program, Signal::SIGKILL) {
                Ok(()) | Err(nix::Error::ESRCH) => {}
                Err(error) => return Err(error).doing("cannot kill a server"),
            }
        }
        self.wait().map(drop)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Nobody is there to be told, and the script ends by itself.
        let _ = self.shell.wait();
    }
}
