//! `cargo xtask deny`: what may come into the dependency trees, in all workspaces.

use anyhow::Result;
use engines::Install;

use crate::ci::OTHER_WORKSPACES;
use crate::process::{self, cargo};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Look for known vulnerabilities, too: fetches the advisories, and fails where they cannot be reached.
    #[arg(long)]
    advisories: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    engines::check_program(
        "cargo-deny",
        Install::command("cargo install --locked cargo-deny"),
    )?;
    for manifest in ["Cargo.toml"].into_iter().chain(OTHER_WORKSPACES) {
        let mut deny = cargo(["deny", "--manifest-path", manifest, "--config", "deny.toml"]);
        deny.args(["--locked", "check", "bans", "licenses", "sources"]);
        if arguments.advisories {
            deny.arg("advisories");
        }
        process::run(&mut deny)?;
    }
    Ok(())
}
