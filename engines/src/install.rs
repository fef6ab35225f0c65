//! How the machine gets what it lacks.

use std::fmt;
use std::process::{Command, Stdio};

use nix::unistd::geteuid;

use crate::error::{Doing as _, Error, Result};

/// What installs something: Debian's packages, or a command; displayed as one types it into a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Install {
    packages: &'static [&'static str],
    /// What is to be run once they are there.
    then: Option<&'static str>,
}

impl Install {
    /// These packages.
    #[must_use]
    pub const fn packages(packages: &'static [&'static str]) -> Self {
        Self {
            packages,
            then: None,
        }
    }

    /// This command, by whoever runs this and for nobody else.
    #[must_use]
    pub const fn command(command: &'static str) -> Self {
        Self::packages(&[]).then(command)
    }

    pub(crate) const fn then(mut self, command: &'static str) -> Self {
        self.then = Some(command);
        self
    }

    /// Runs it, packages as root or through `sudo`; its output goes to standard error.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be run or fails.
    pub fn run(&self) -> Result<()> {
        let has_packages = !self.packages.is_empty();
        let mut command = if geteuid().is_root() || !has_packages {
            Command::new("sh")
        } else {
            let mut sudo = Command::new("sudo");
            sudo.arg("sh");
            sudo
        };
        let line = self.to_string();
        let update = if has_packages {
            "apt-get update -qq; "
        } else {
            ""
        };
        let status = command
            .args(["-ec", &format!("exec >&2; {update}{line}")])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .status()
            .doing(format!("cannot run `{line}`"))?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Io {
            doing: format!("`{line}`"),
            source: std::io::Error::other(status.to_string()),
        })
    }
}

/// Installs what a check finds missing, until it finds nothing more.
///
/// # Errors
/// Those of the check and of [`Install::run`].
pub fn install_missing(check: impl Fn() -> Result<()>) -> Result<()> {
    let mut before = None;
    loop {
        match check() {
            Err(Error::Missing { what, install }) if before.as_ref() != Some(&what) => {
                eprintln!("\n$ {install}");
                install.run()?;
                before = Some(what);
            }
            checked => return checked,
        }
    }
}

impl fmt::Display for Install {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packages = self.packages.join(" ");
        let install = (!self.packages.is_empty())
            .then(|| format!("apt-get install -y --no-install-recommends {packages}"));
        let steps: Vec<_> = install.as_deref().into_iter().chain(self.then).collect();
        f.write_str(&steps.join(" && "))
    }
}
