//! What ran, for whoever started it: a line of JSON per case.
//!
//! The test process appends to the file that the environment variable [`PATH_VARIABLE`] names. So a
//! runner knows what was really executed, with which engine and for how long, whatever test harness
//! stood in between.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Value, json};

/// The environment variable with the path of the report.
pub const PATH_VARIABLE: &str = "STORETEST_REPORT";

/// One case on one backend.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseReport {
    /// The backend, such as `sqlite`.
    pub backend: String,
    /// The engine behind it and its version.
    pub engine: String,
    /// `change` or `document`.
    pub contract: String,
    /// The whole name of the case.
    pub case: String,
    /// Whether it passed.
    pub passed: bool,
    /// How long it took, the opening of the store included, in milliseconds.
    pub millis: f64,
}

impl CaseReport {
    fn to_json(&self) -> Value {
        json!({
            "backend": self.backend,
            "engine": self.engine,
            "contract": self.contract,
            "case": self.case,
            "passed": self.passed,
            "millis": self.millis,
        })
    }

    fn from_json(line: &Value) -> Option<Self> {
        let text = |name: &str| Some(line.get(name)?.as_str()?.to_owned());
        Some(Self {
            backend: text("backend")?,
            engine: text("engine")?,
            contract: text("contract")?,
            case: text("case")?,
            passed: line.get("passed")?.as_bool()?,
            millis: line.get("millis")?.as_f64()?,
        })
    }
}

pub(crate) fn is_wanted() -> bool {
    std::env::var_os(PATH_VARIABLE).is_some()
}

/// Appends a case.
pub(crate) fn append(report: &CaseReport) {
    append_line(PATH_VARIABLE, &report.to_json());
}

/// Appends a line to the file that the variable names, if it names one; one write, so that processes side by side do
/// not mix theirs.
pub(crate) fn append_line(variable: &str, line: &Value) {
    let Some(path) = std::env::var_os(variable) else {
        return;
    };
    let line = format!("{line}\n");
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| {
        panic!(
            "{variable}: {} cannot be written: {error}",
            Path::new(&path).display()
        )
    });
}

/// Reads a report.
///
/// # Errors
/// Those of the file, and `InvalidData` for a line that is none of a report's.
pub fn read(path: &Path) -> io::Result<Vec<CaseReport>> {
    read_lines(path, CaseReport::from_json)
}

pub(crate) fn read_lines<T>(
    path: &Path,
    parse: impl Fn(&Value) -> Option<T>,
) -> io::Result<Vec<T>> {
    let text = std::fs::read_to_string(path)?;
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            let value = serde_json::from_str(line).ok();
            value.as_ref().and_then(&parse).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("line {} is none of a report's", at + 1),
                )
            })
        })
        .collect()
}
