//! `cargo xtask torture`: random programs, concurrent histories, faults of the network and crashes, for minutes.

mod outcome;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use storetest::torture::Settings;

use crate::backends::{Backend, Row};
use crate::engine::{Fleet, Options, Running};
use crate::process::{cargo, command_line};

pub(crate) use outcome::{Outcome, Place, render};

/// Where the reports go, below the workspace.
const FOLDER: &str = "target/torture";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How long each backend is tortured, on each of its engines.
    #[arg(long, value_name = "N", default_value_t = 10)]
    minutes: u64,

    /// What to draw the calls from; otherwise a seed that nobody has had. Each failure names its own.
    #[arg(long)]
    seed: Option<u64>,

    /// Torture this backend only; may be given several times.
    #[arg(long = "backend", value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Backend::names()))]
    backends: Vec<String>,

    #[command(flatten)]
    engines: Options,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let wanted = |row: &Row| {
        let name = row.backend.name;
        arguments.backends.is_empty() || arguments.backends.iter().any(|it| it == name)
    };
    let rows: Vec<_> = Row::all().filter(wanted).collect();
    let fleet = Fleet::start(rows.iter().copied(), &arguments.engines);
    let seed = arguments.seed.unwrap_or_else(|| Settings::from_env().seed);
    fs::create_dir_all(FOLDER).with_context(|| format!("cannot make {FOLDER}"))?;
    let (mut outcomes, mut faults) = (Vec::new(), Vec::new());
    for row in rows {
        let server = fleet.wait(row).with_context(|| row.name())?;
        let (outcome, failure) = run_row(row, server, arguments.minutes * 60, seed)?;
        faults.extend(failure);
        faults.extend(outcome.faults());
        outcomes.push(outcome);
    }
    println!("\n{}", render(&outcomes));
    if !faults.is_empty() {
        bail!("not clean:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// All torture tests of a row, side by side; and how they failed, if they did.
fn run_row(
    row: Row,
    server: Option<&Running>,
    seconds: u64,
    seed: u64,
) -> Result<(Outcome, Option<String>)> {
    let place = Place::new(Path::new(FOLDER), row)?;
    let mut command = cargo(["test", "--locked"]);
    command
        .args(row.backend.test_arguments())
        .args(["--", "--include-ignored", "--test-threads", "8", "torture"])
        .args(row.skipped())
        .env(Settings::SECONDS_VARIABLE, seconds.to_string())
        .env(Settings::SEED_VARIABLE, seed.to_string());
    place.set(&mut command);
    if let (Some(engine), Some(server)) = (row.engine, server) {
        command.env(engine.variable, &server.url);
    }
    eprintln!("\n$ {}", command_line(&command));
    let status = command
        .status()
        .with_context(|| format!("cannot test {}", row.name()))?;
    let failure =
        (!status.success()).then(|| format!("{}: the tests ended with {status}", row.name()));
    Ok((place.outcome(row)?, failure))
}
