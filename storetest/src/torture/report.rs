//! What ran, for whoever started it: a line of JSON per test, as [`crate::report`] has one per case.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::Tally;
use crate::report::{append_line, read_lines};

/// The environment variable with the path of the report.
pub const PATH_VARIABLE: &str = "STORETEST_TORTURE_REPORT";

/// One test on one backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    /// The backend, such as `sqlite`.
    pub backend: String,
    /// The engine behind it and its version.
    pub engine: String,
    /// The test, such as `document_histories`.
    pub test: String,
    /// The seed of its first round.
    pub seed: u64,
    /// How long it ran, in milliseconds.
    pub millis: u64,
    /// Calls whose answers were checked.
    pub operations: u64,
    /// Programs and histories.
    pub histories: u64,
    /// Faults that the network made, and calls that were dropped.
    pub faults: u64,
    /// Servers that were killed, and came back.
    pub crashes: u64,
    /// Acknowledged writes that are gone.
    pub lost: u64,
    /// Other wrong outcomes.
    pub wrong: u64,
    /// Panics.
    pub panics: u64,
}

impl TestReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lost + self.wrong + self.panics == 0
    }

    pub(super) fn count(&mut self, tally: &Tally) {
        self.operations = tally.operations;
        self.histories = tally.histories;
        self.faults = tally.faults;
        self.crashes = tally.crashes;
        self.lost = tally.lost();
        self.wrong = tally.wrong();
        self.panics = tally.panics();
    }

    /// As it stands in a report.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "backend": self.backend,
            "engine": self.engine,
            "test": self.test,
            // As text: not every reader of JSON has all 64 bits.
            "seed": self.seed.to_string(),
            "millis": self.millis,
            "operations": self.operations,
            "histories": self.histories,
            "faults": self.faults,
            "crashes": self.crashes,
            "lost": self.lost,
            "wrong": self.wrong,
            "panics": self.panics,
        })
    }

    fn from_json(line: &Value) -> Option<Self> {
        let text = |name: &str| Some(line.get(name)?.as_str()?.to_owned());
        let number = |name: &str| line.get(name)?.as_u64();
        Some(Self {
            backend: text("backend")?,
            engine: text("engine")?,
            test: text("test")?,
            seed: text("seed")?.parse().ok()?,
            millis: number("millis")?,
            operations: number("operations")?,
            histories: number("histories")?,
            faults: number("faults")?,
            crashes: number("crashes")?,
            lost: number("lost")?,
            wrong: number("wrong")?,
            panics: number("panics")?,
        })
    }
}

/// Whether somebody wants one.
pub(super) fn is_wanted() -> bool {
    std::env::var_os(PATH_VARIABLE).is_some()
}

pub(super) fn append(report: &TestReport) {
    append_line(PATH_VARIABLE, &report.to_json());
}

/// Reads a report.
///
/// # Errors
/// Those of the file, and `InvalidData` for a line that is none of a report's.
pub fn read(path: &Path) -> io::Result<Vec<TestReport>> {
    read_lines(path, TestReport::from_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let report = TestReport {
            backend: "mem".into(),
            engine: "memory".into(),
            test: "programs".into(),
            seed: u64::MAX,
            millis: 1,
            operations: 2,
            histories: 3,
            faults: 4,
            crashes: 5,
            lost: 6,
            wrong: 7,
            panics: 8,
        };
        assert_eq!(TestReport::from_json(&report.to_json()), Some(report));
    }
}
