//! `cargo xtask conformance`: every case on every backend, or a gap that is named.

mod html;
mod matrix;
mod outcome;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::backends::{Backend, Row};
use crate::engine::{Fleet, Options, Running};
use crate::process::{cargo, command_line};
use crate::torture;
use outcome::{BackendOutcome, Report, Status};

/// Where the reports go, below the workspace.
const FOLDER: &str = "target/conformance";

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Run on this backend only; may be given several times. The others are shown as NOT RUN.
    #[arg(long = "backend", value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Backend::names()))]
    backends: Vec<String>,

    #[command(flatten)]
    engines: Options,
}

impl Arguments {
    fn selects(&self, backend: &Backend) -> bool {
        self.backends.is_empty() || self.backends.iter().any(|name| name == backend.name)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let rows = Row::all().filter(|row| arguments.selects(row.backend));
    let fleet = Fleet::start(rows, &arguments.engines);
    run_on(&fleet, arguments)
}

/// Runs with servers that are there, or on their way, for all selected rows.
pub(crate) fn run_on(fleet: &Fleet, arguments: &Arguments) -> Result<()> {
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {FOLDER}"))?;
    let mut outcomes = Vec::new();
    for row in Row::all() {
        let status = if arguments.selects(row.backend) {
            match fleet.wait(row) {
                Ok(server) => run_row(row, server, folder)?,
                Err(error) => {
                    let why = format!("{error:#}");
                    eprintln!("\n{}: not reachable: {why}", row.name());
                    Status::Unreachable(why)
                }
            }
        } else {
            Status::NotRun
        };
        outcomes.push(BackendOutcome { row, status });
    }
    let report = Report::new(outcomes);
    let json = serde_json::to_string_pretty(&report.to_json())?;
    fs::write(folder.join("report.json"), json)?;
    fs::write(
        folder.join("report.html"),
        html::render(&report).into_string(),
    )?;

    println!("\n{}", matrix::render(&report));
    let tortured = report.outcomes.iter().filter_map(BackendOutcome::torture);
    println!("{}", torture::render(tortured));
    println!("{FOLDER}/report.html shows each case; report.json is for machines.");
    let faults = report.faults();
    if !faults.is_empty() {
        bail!("not conforming:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// Runs the suite on one backend and engine. What counts is what its cases have reported; the output of the
/// test harness is for people.
fn run_row(row: Row, server: Option<&Running>, folder: &Path) -> Result<Status> {
    let name = row.name();
    let cases = std::path::absolute(folder)?.join(format!("{name}.jsonl"));
    match fs::remove_file(&cases) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let torture = torture::Place::new(folder, row)?;
    let mut command = cargo(["test", "--locked"]);
    torture.set(&mut command);
    command
        .args(row.backend.test_arguments())
        .args(["--", "--include-ignored"])
        .args(row.skipped())
        .env(storetest::report::PATH_VARIABLE, &cases)
        .stderr(Stdio::inherit());
    if let (Some(engine), Some(server)) = (row.engine, server) {
        command.env(engine.variable, &server.url);
    }
    eprintln!("\n$ {}", command_line(&command));
    let output = command
        .output()
        .with_context(|| format!("cannot test {name}"))?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    }
    let cases = match storetest::report::read(&cases) {
        Ok(cases) => cases,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("{}", cases.display())),
    };
    let failed_otherwise = !output.status.success() && cases.iter().all(|case| case.passed);
    Ok(Status::ran(
        cases,
        torture.outcome(row)?,
        failed_otherwise.then(|| output.status.to_string()),
        server.map_or("", |server| server.place.describe()),
    ))
}
