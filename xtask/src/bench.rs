//! `cargo xtask bench`: the benchmarks of the workspace, one after the other.

use anyhow::{Result, bail};

use crate::process;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run the benchmarks of this package only.
    #[arg(long, value_name = "PACKAGE")]
    package: Option<String>,
}

/// The packages with benchmarks, and the features that these need.
const BENCHMARKS: &[(&str, &[&str])] = &[
    ("store-mem", &[]),
    ("changestore-sql", &["--features", "sqlite"]),
    ("changestore-dynamo", &[]),
    ("changestore-bigtable", &[]),
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let selected = |name: &str| {
        arguments
            .package
            .as_deref()
            .is_none_or(|wanted| wanted == name)
    };
    if !BENCHMARKS.iter().any(|(name, _)| selected(name)) {
        bail!(
            "no benchmarks in that package; there are some in {}",
            names()
        );
    }
    for (name, features) in BENCHMARKS.iter().filter(|(name, _)| selected(name)) {
        process::run(process::cargo(["bench", "--package", name]).args(*features))?;
    }
    Ok(())
}

fn names() -> String {
    BENCHMARKS
        .iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}
