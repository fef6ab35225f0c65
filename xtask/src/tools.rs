//! The programs that tests need beside the servers.

use anyhow::Result;
use engines::Install;

use crate::deny;

/// They write to the same databases as we do.
const PROGRAMS: [(&str, Install); 2] = [
    ("python3", Install::packages(&["python3"])),
    ("sqlite3", Install::packages(&["sqlite3"])),
];

/// Finds out whether all are there, or installs them.
pub(crate) fn check(install: bool) -> Result<()> {
    let check = || {
        for (name, install) in PROGRAMS {
            engines::check_program(name, install)?;
        }
        deny::check()?;
        // It stands between a client and its server.
        engines::pgbouncer::check()
    };
    if install {
        engines::install_missing(check)?;
    }
    Ok(check()?)
}
