//! `cargo xtask tidy`: what no compiler checks.

mod contract;
mod layers;
mod sources;
mod tables;

use anyhow::{Context as _, Result, bail};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Write the generated tables instead of comparing them.
    #[arg(long)]
    fix: bool,
}

/// What one check found: a sentence per finding, each naming its file.
type Findings = Vec<String>;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .other_options(["--locked".to_owned(), "--all-features".to_owned()])
        .exec()
        .context("cargo metadata")?;
    let sources = sources::tracked_files()?;
    let checks: [(&str, Findings); 4] = [
        (
            "each clause of CONTRACT.md names a case, and each case is named",
            contract::check()?,
        ),
        (
            "adapters depend on no other adapter, the core on no vendor",
            layers::check(&metadata)?,
        ),
        (
            "files say what they are, and stay small",
            sources::check(&sources)?,
        ),
        (
            "tables of backends are up to date",
            tables::check(&sources, arguments.fix)?,
        ),
    ];
    let mut found = 0;
    for (rule, findings) in &checks {
        println!(
            "{} {rule}",
            if findings.is_empty() { "ok  " } else { "FAIL" }
        );
        for finding in findings {
            println!("       {finding}");
        }
        found += findings.len();
    }
    if found > 0 {
        bail!("tidy: {found} findings");
    }
    Ok(())
}
