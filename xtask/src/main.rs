//! The workspace's own commands, in plain Rust: `cargo xtask --help`.

mod backends;
mod bench;
mod ci;
mod columns;
mod conformance;
mod deny;
mod engine;
mod process;
mod tidy;
mod tools;
mod torture;
mod with;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(about = "The workspace's own commands", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the conformance suite on every backend and print the matrix.
    ///
    /// Fails if a case fails, or if one was not executed on a backend. The same is written to
    /// target/conformance/report.json and target/conformance/report.html.
    Conformance(conformance::Arguments),
    /// Torture every backend for minutes: random programs, concurrent histories, faults of the network, crashes.
    ///
    /// Prints what was done and found. Fails if an acknowledged write is gone, an outcome is wrong or something
    /// panics. `conformance` does the same for seconds.
    Torture(torture::Arguments),
    /// Check what no compiler checks: contract, dependencies, docs, tables.
    Tidy(tidy::Arguments),
    /// Run the benchmarks; each prints ratios that were measured side by side.
    Bench(bench::Arguments),
    /// Check licences, bans and sources of all dependencies with cargo-deny.
    Deny(deny::Arguments),
    /// Run a command, such as `cargo test`, with servers beside it and their URLs in its environment.
    With(with::Arguments),
    /// Everything that must hold before a change lands, ending with all tests.
    ///
    /// Fails if anything was left out because something is missing on this machine.
    Ci(engine::Options),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The causes and no backtrace: what failed is a command or a rule, not this program.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    // The paths below are relative to the workspace, wherever the command was typed.
    std::env::set_current_dir(process::workspace_root())?;
    match Arguments::parse().command {
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Torture(arguments) => torture::run(&arguments),
        Command::Tidy(arguments) => tidy::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Deny(arguments) => deny::run(&arguments),
        Command::With(arguments) => with::run(&arguments),
        Command::Ci(options) => ci::run(&options),
    }
}
