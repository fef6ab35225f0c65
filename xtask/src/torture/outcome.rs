//! What the torture tests of a row did and found.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;
use storetest::torture::report::{self, PATH_VARIABLE, TestReport};
use storetest::torture::{CRASH_TESTS, KILL_TESTS, NETWORK_TESTS, TESTS};

use crate::backends::{Durable, Row};
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
                Some(test) if test.faults == 0 && makes_faults(wanted) => {
                    faults.push(format!("{name}: torture test {wanted} has made no fault"));
                }
                Some(test) if test.crashes == 0 && kills(wanted) => {
                    faults.push(format!("{name}: torture test {wanted} has killed nothing"));
                }
                Some(_) => {}
            }
        }
        faults
    }

    pub(crate) fn to_json(&self) -> Value {
        self.tests.iter().map(TestReport::to_json).collect()
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
            sum(|test| test.crashes),
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
    let over_crashes: &[_] = match row.kills() {
        Durable::Nothing => &[],
        Durable::Process => &KILL_TESTS,
        Durable::Server => &CRASH_TESTS,
    };
    TESTS
        .into_iter()
        .chain(over_network)
        .chain(over_crashes.iter().copied())
}

/// Whether a test has seen nothing if it has made no fault.
fn makes_faults(test: &str) -> bool {
    NETWORK_TESTS.contains(&test) || test == "programs_with_dropped_calls"
}

/// Whether a test has seen nothing if it has killed nothing.
fn kills(test: &str) -> bool {
    CRASH_TESTS.contains(&test) || KILL_TESTS.contains(&test)
}

/// The table of all rows.
pub(crate) fn render<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
    let header = [
        "backend",
        "engine",
        "operations",
        "histories",
        "faults",
        "crashes",
        "writes lost",
        "wrong outcomes",
        "panics",
        "seed",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(outcomes.into_iter().map(Outcome::line));
    columns::render(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(spoil: impl Fn(&mut TestReport)) -> Outcome {
        let row = Row::all()
            .find(|row| row.engine.is_some())
            .expect("one with a server");
        let report = |test: &str| TestReport {
            backend: row.backend.name.to_owned(),
            engine: "engine".to_owned(),
            test: test.to_owned(),
            seed: 7,
            millis: 1,
            operations: 2,
            histories: 1,
            faults: 3,
            crashes: 4,
            lost: 0,
            wrong: 0,
            panics: 0,
        };
        let mut tests: Vec<_> = wanted(row).map(report).collect();
        tests.iter_mut().for_each(spoil);
        Outcome { row, tests }
    }

    #[test]
    fn what_is_clean_has_no_faults() {
        let outcome = outcome(|_| {});
        assert!(outcome.faults().is_empty());
        let table = render([&outcome]);
        let line: Vec<_> = table
            .lines()
            .nth(1)
            .expect("a row")
            .split_whitespace()
            .collect();
        let tests = outcome.tests.len();
        assert!(tests >= TESTS.len() + NETWORK_TESTS.len());
        let sums = [2 * tests, tests, 3 * tests, 4 * tests, 0, 0, 0, 7].map(|sum| sum.to_string());
        assert_eq!(line[2..], sums);
    }

    #[test]
    fn each_fault_is_found() {
        let spoils: [fn(&mut TestReport); 6] = [
            |test| test.lost = 1,
            |test| test.wrong = 1,
            |test| test.panics = 1,
            |test| test.operations = 0,
            |test| test.faults = 0,
            |test| test.test = "another".to_owned(),
        ];
        for spoil in spoils {
            let faults = outcome(|test| {
                if test.test == NETWORK_TESTS[0] {
                    spoil(test);
                }
            })
            .faults();
            let [fault] = faults.as_slice() else {
                panic!("not one fault: {faults:?}");
            };
            assert!(fault.contains(NETWORK_TESTS[0]), "{fault}");
        }
    }
}
