//! Whom a server runs as: not root, which most of them refuse.

use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use nix::unistd::{User, geteuid};

use crate::error::{Doing as _, Result};

/// Another user than the one who runs this; none if this is not root.
#[derive(Debug, Clone)]
pub(crate) struct Unprivileged(Option<User>);

impl Unprivileged {
    /// The first of these users that there is, or `nobody`.
    pub(crate) fn find(names: &[&str]) -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self(None));
        }
        for name in names.iter().chain(&["nobody"]) {
            let user = User::from_name(name).doing(format!("cannot look up the user {name}"))?;
            if user.is_some() {
                return Ok(Self(user));
            }
        }
        Ok(Self(None))
    }

    /// Whoever runs this: for programs that do not mind, and that nobody else may be allowed to read.
    pub(crate) const fn nobody_else() -> Self {
        Self(None)
    }

    /// The command as this user runs it.
    pub(crate) fn run(&self, command: &Command) -> Command {
        let Some(user) = &self.0 else {
            return copy(command, Command::new(command.get_program()));
        };
        // `setpriv` becomes the program, so that a signal to the process reaches it.
        let mut setpriv = Command::new("setpriv");
        setpriv
            .arg(format!("--reuid={}", user.uid))
            .arg(format!("--regid={}", user.gid))
            .args(["--clear-groups", "--"])
            .arg(command.get_program());
        copy(command, setpriv)
    }

    /// Lets this user have a file or folder.
    pub(crate) fn give(&self, path: &Path) -> Result<()> {
        match &self.0 {
            None => Ok(()),
            Some(user) => chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
                .doing(format!("cannot give {} to {}", path.display(), user.name)),
        }
    }
}

fn copy(from: &Command, mut to: Command) -> Command {
    to.args(from.get_args());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    to
}
