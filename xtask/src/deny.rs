//! `cargo xtask deny`: what may come into the dependency trees, in all workspaces.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use engines::Install;

use crate::ci::OTHER_WORKSPACES;
use crate::process;

/// Without optimization it takes half as long to build, and a second to run.
const INSTALL: Install = Install::command(concat!(
    "cargo install cargo-deny --version 0.20.2 --locked --debug --root '",
    env!("CARGO_MANIFEST_DIR"),
    "/../target/tools'"
));

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Look for known vulnerabilities, too: fetches the advisories, and fails where they cannot be reached.
    #[arg(long)]
    advisories: bool,
}

/// Whether cargo-deny is there; the error says how it is installed.
pub(crate) fn check() -> engines::Result<()> {
    program().map(drop)
}

fn program() -> engines::Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/bin");
    engines::find_program(&["cargo-deny"], &[own], INSTALL)
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let program = program()?;
    for manifest in ["Cargo.toml"].into_iter().chain(OTHER_WORKSPACES) {
        let mut deny = Command::new(&program);
        deny.args(["--manifest-path", manifest, "--config", "deny.toml"])
            .args(["--locked", "check", "--hide-inclusion-graph"])
            .args(["bans", "licenses", "sources"]);
        if arguments.advisories {
            deny.arg("advisories");
        }
        process::run(&mut deny)?;
    }
    Ok(())
}
