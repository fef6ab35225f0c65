//! `cargo xtask ci`: what must hold before a change lands.

use anyhow::{Context as _, Result};

use crate::process::{self, cargo};
use crate::{conformance, tidy};

/// The example of a vendor crate, which is a workspace of its own.
const VENDOR: [&str; 4] = [
    "--manifest-path",
    "examples/vendor-redb/Cargo.toml",
    "--target-dir",
    "target",
];

/// What fails fastest comes first; the tests come last, so that their summary ends the output.
pub(crate) fn run() -> Result<()> {
    let all = ["--workspace", "--all-features", "--locked"];
    process::run(&mut cargo(["fmt", "--all", "--check"]))?;
    process::run(cargo(["fmt", "--check", "--manifest-path"]).arg(VENDOR[1]))?;
    tidy::run(&tidy::Arguments::default())?;

    let deny_warnings = ["--", "--deny", "warnings"];
    process::run(
        cargo(["clippy", "--all-targets"])
            .args(all)
            .args(deny_warnings),
    )?;
    process::run(
        cargo(["clippy", "--all-targets", "--locked"])
            .args(VENDOR)
            .args(deny_warnings),
    )?;
    // An adapter is used with one feature at a time, or by mistake with none.
    process::run(
        cargo(["clippy", "--package", "changestore-sql", "--locked"]).args(deny_warnings),
    )?;
    process::run(
        cargo(["doc", "--no-deps"])
            .args(all)
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )?;

    for (package, example) in examples()? {
        let example = ["--package", &package, "--example", &example];
        process::run(cargo(["run", "--quiet", "--locked", "--all-features"]).args(example))?;
    }
    conformance::run(&conformance::Arguments::default())?;
    process::run(cargo(["test", "--locked"]).args(VENDOR))?;
    process::run(cargo(["test"]).args(all))
}

/// The examples of the workspace's crates, which say with their exit code whether they still work.
fn examples() -> Result<Vec<(String, String)>> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .other_options(["--locked".to_owned()])
        .no_deps()
        .exec()
        .context("cargo metadata")?;
    let mut examples = Vec::new();
    for package in metadata.packages {
        for target in package.targets.iter().filter(|target| target.is_example()) {
            examples.push((package.name.to_string(), target.name.clone()));
        }
    }
    Ok(examples)
}
