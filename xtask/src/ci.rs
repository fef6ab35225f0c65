//! `cargo xtask ci`: what must hold before a change lands.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use cargo_metadata::Target;

use crate::backends::{BACKENDS, Row};
use crate::engine::{self, Fleet};
use crate::process::{self, cargo};
use crate::{conformance, deny, tidy, tools};

/// The example of a vendor crate, which is a workspace of its own.
const VENDOR: &str = "examples/vendor-redb/Cargo.toml";

/// How long each fuzz target runs: there are ten, and a minute is enough for all.
const FUZZ_TIME_VARIABLE: &str = "BOLERO_RANDOM_TEST_TIME_MS";
const FUZZ_TIME_MILLIS: &str = "6000";

/// The workspaces beside ours.
pub(crate) const OTHER_WORKSPACES: [&str; 2] = [VENDOR, engine::DOCKER_MANIFEST];

/// What fails fastest comes first; the tests come last, so that their summary ends the output.
pub(crate) fn run(options: &engine::Options) -> Result<()> {
    tools::check(options.install)?;
    // They start beside what comes first; and what is missing is known now, not after minutes.
    let fleet = Fleet::start(Row::all(), options);
    for row in Row::all() {
        fleet.wait(row).with_context(|| row.name())?;
    }

    let all = ["--workspace", "--all-features", "--locked"];
    process::run(&mut cargo(["fmt", "--all", "--check"]))?;
    for manifest in OTHER_WORKSPACES {
        process::run(cargo(["fmt", "--check", "--manifest-path"]).arg(manifest))?;
    }
    tidy::run(&tidy::Arguments::default())?;
    deny::run(&deny::Arguments::default())?;

    let deny_warnings = ["--", "--deny", "warnings"];
    process::run(
        cargo(["clippy", "--all-targets"])
            .args(all)
            .args(deny_warnings),
    )?;
    for manifest in OTHER_WORKSPACES {
        process::run(
            cargo(["clippy", "--all-targets", "--locked"])
                .args(of_workspace(manifest))
                .args(deny_warnings),
        )?;
    }
    // An adapter is used with one feature at a time, or by mistake with none.
    process::run(
        cargo(["clippy", "--package", "changestore-sql", "--locked"]).args(deny_warnings),
    )?;
    for feature in BACKENDS.iter().filter_map(|backend| backend.feature) {
        process::run(
            cargo(["clippy", "--package", "changestore-sql", "--locked"])
                .args(["--all-targets", "--features", feature])
                .args(deny_warnings),
        )?;
    }
    process::run(
        cargo(["doc", "--no-deps"])
            .args(all)
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )?;

    for (package, example) in examples()? {
        let example = ["--package", &package, "--example", &example];
        process::run(cargo(["run", "--quiet", "--locked", "--all-features"]).args(example))?;
    }
    conformance::run_on(&fleet, &conformance::Arguments::default())?;
    process::run(cargo(["test", "--locked"]).args(of_workspace(VENDOR)))?;
    process::run(cargo(["test", "--doc"]).args(all))?;
    // The others, of which some are ignored where nobody has servers. Not together with those in the docs, where
    // ignored means that they are no programs.
    process::run(
        cargo(["test", "--lib", "--bins"])
            .args(other_tests()?.iter().flat_map(|name| ["--test", name]))
            .args(all)
            .args(["--", "--include-ignored"])
            .env(FUZZ_TIME_VARIABLE, FUZZ_TIME_MILLIS)
            .envs(fleet.urls()),
    )
}

/// The arguments that select another workspace. Its target folder is ours, so that what both depend on is
/// built once.
fn of_workspace(manifest: &str) -> [&str; 4] {
    ["--manifest-path", manifest, "--target-dir", "target"]
}

/// The examples of the workspace's crates, which say with their exit code whether they still work.
fn examples() -> Result<Vec<(String, String)>> {
    targets(Target::is_example)
}

/// The names of the crates' test programs but for those that the conformance matrix has run by now.
fn other_tests() -> Result<BTreeSet<String>> {
    let tests = targets(Target::is_test)?.into_iter().map(|(_, name)| name);
    let in_matrix = |name: &String| BACKENDS.iter().any(|backend| backend.test == name);
    Ok(tests.filter(|name| !in_matrix(name)).collect())
}

/// The workspace's targets of a kind, each with its package.
fn targets(is_wanted: impl Fn(&Target) -> bool) -> Result<Vec<(String, String)>> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .other_options(["--locked".to_owned()])
        .no_deps()
        .exec()
        .context("cargo metadata")?;
    let mut targets = Vec::new();
    for package in metadata.packages {
        for target in package.targets.iter().filter(|target| is_wanted(target)) {
            targets.push((package.name.to_string(), target.name.clone()));
        }
    }
    Ok(targets)
}
