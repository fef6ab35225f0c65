//! Finding programs, and running those that answer at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Doing as _, Error, Result};
use crate::install::Install;

/// Where servers are that are not for everybody's `PATH`.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// Whether there is a program of that name, or else how it is installed.
///
/// # Errors
/// [`Error::Missing`].
pub fn check(name: &str, install: Install) -> Result<()> {
    find(&[name], &[], install).map(drop)
}

/// A program of one of these names, in these folders, on `PATH` or among the system's.
///
/// # Errors
/// [`Error::Missing`], with how it is installed.
pub fn find(names: &[&str], folders: &[PathBuf], install: Install) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path);
    let folders: Vec<_> = folders
        .iter()
        .cloned()
        .chain(on_path)
        .chain(SYSTEM_FOLDERS.map(PathBuf::from))
        .collect();
    let found = names.iter().find_map(|name| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        places.find(|place| place.is_file())
    });
    found.ok_or_else(|| Error::Missing {
        what: names[0].to_owned(),
        install,
    })
}

/// What a program prints, or what it complains of.
pub(crate) fn ask(command: &mut Command) -> Result<Result<String, String>> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command
        .stdin(Stdio::null())
        .output()
        .doing(format!("cannot run {name}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        let install = Install::packages(&["some-package", "another"]).then("some-command --now");
        let message = check("no-such-program", install).unwrap_err().to_string();
        assert_eq!(
            message,
            "no-such-program is missing; this installs it:\n    \
             apt-get install -y --no-install-recommends some-package another && some-command --now"
        );
        assert!(check("sh", install).is_ok());
    }
}
