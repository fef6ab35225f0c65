//! What the torture tests of a row did and found.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use storetest::torture::report::{self, PATH_VARIABLE, TestReport};
use storetest::torture::{NETWORK_TESTS, TESTS};

use crate::backends::Row;
use crate::columns;

/// The tests of one row that ran.
#[derive(Debug)]
pub(crate) struct Outcome {
    row: Row,
    tests: Vec<TestReport>,
}

/// Where a command's tests are to report to.
pub(crate) struct Place(PathBuf);

impl Place {
    /// A file in that folder, which is not there yet.
    pub(crate) fn new(folder: &Path, row: Row) -> Result<Self> {
        let path = std::path::absolute(folder)?.join(format!("{}-torture.jsonl", row.name()));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(Self(path)),
        }
    }

    pub(crate) fn set(&self, command: &mut Command) {
        command.env(PATH_VARIABLE, &self.0);
    }

    /// What was reported.
    pub(crate) fn outcome(&self, row: Row) -> Result<Outcome> {
        let tests = match report::read(&self.0) {
            Ok(tests) => tests,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("{}", self.0.display())),
        };
        Ok(Outcome { row, tests })
    }
}

impl Outcome {
    /// Everything that is not as it should be: a test that found something, or did not run.
    pub(crate) fn faults(&self) -> Vec<String> {
        let name = self.row.name();
        if self.tests.is_empty() {
            // A build that failed: one line says it.
            return vec![format!("{name}: no torture test has run to its end")];
        }
        let mut faults = Vec::new();
        for wanted in wanted(self.row) {
            match self.tests.iter().find(|test| test.test == wanted) {
                None => faults.push(format!(
                    "{name}: torture test {wanted} has not run to its end"
                )),
                Some(test) if !test.is_clean() => {
                    faults.push(format!(
                        "{name}: torture test {wanted}, seed {}, failed",
                        test.seed
                    ));
                }
                Some(test) if test.operations == 0 => {
                    faults.push(format!("{name}: torture test {wanted} has done nothing"));
                }
                Some(test) if NETWORK_TESTS.contains(&wanted) && test.faults == 0 => {
                    faults.push(format!("{name}: torture test {wanted} has made no fault"));
                }
                Some(_) => {}
            }
        }
        faults
    }

    fn line(&self) -> Vec<String> {
        let sum =
            |count: fn(&TestReport) -> u64| self.tests.iter().map(count).sum::<u64>().to_string();
        let engine = self.tests.first().map_or("unknown", |test| &test.engine);
        let mut seeds: Vec<_> = self.tests.iter().map(|test| test.seed).collect();
        seeds.dedup();
        let seed = match seeds.as_slice() {
            [seed] => seed.to_string(),
            _ => "each its own".to_owned(),
        };
        vec![
            self.row.name(),
            engine.to_owned(),
            sum(|test| test.operations),
            sum(|test| test.histories),
            sum(|test| test.faults),
            sum(|test| test.lost),
            sum(|test| test.wrong),
            sum(|test| test.panics),
            seed,
        ]
    }
}

/// The tests that a row must have run.
fn wanted(row: Row) -> impl Iterator<Item = &'static str> {
    let over_network = NETWORK_TESTS
        .into_iter()
        .filter(move |_| row.engine.is_some());
    TESTS.into_iter().chain(over_network)
}

/// The table of all rows.
pub(crate) fn render<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
    let header = [
        "backend",
        "engine",
        "operations",
        "histories",
        "faults",
        "writes lost",
        "wrong outcomes",
        "panics",
        "seed",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(outcomes.into_iter().map(Outcome::line));
    columns::render(&rows)
}
