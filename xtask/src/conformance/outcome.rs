//! What ran, held against what should have run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use storetest::CaseName;
use storetest::report::CaseReport;

use crate::backends::Row;
use crate::torture;

/// The contracts, with the cases of each.
pub(super) const CONTRACTS: [(&str, &str, &[CaseName]); 2] = [
    ("change", "ChangeStore", storetest::change::CASES),
    ("document", "DocumentStore", storetest::document::CASES),
];

/// All backends.
pub(super) struct Report {
    pub(super) outcomes: Vec<BackendOutcome>,
    /// Seconds since the epoch.
    pub(super) finished_at: u64,
}

/// One backend, on one engine.
pub(super) struct BackendOutcome {
    pub(super) row: Row,
    pub(super) status: Status,
}

/// What became of the suite on one backend.
pub(super) enum Status {
    /// Left out by a flag.
    NotRun,
    /// Its engine could not be had, and why.
    Unreachable(String),
    /// Executed, as far as it came.
    Ran {
        engine: String,
        /// By the case's whole name.
        cases: BTreeMap<String, CaseReport>,
        /// The torture tests, for some seconds each.
        torture: torture::Outcome,
        /// A failure that no case has reported, such as a build that failed or a killed process.
        failure: Option<String>,
    },
}

/// One cell of the matrix.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) missing: usize,
    pub(super) millis: f64,
}

impl Tally {
    pub(super) fn total(self) -> usize {
        self.passed + self.failed + self.missing
    }

    pub(super) fn is_clean(self) -> bool {
        self.failed == 0 && self.missing == 0
    }
}

impl Status {
    /// `place` is where the engine runs, if that is not the test's process.
    pub(super) fn ran(
        reports: Vec<CaseReport>,
        torture: torture::Outcome,
        failure: Option<String>,
        place: &str,
    ) -> Self {
        let mut engine = reports
            .first()
            .map_or_else(|| "unknown".to_owned(), |case| case.engine.clone());
        if !place.is_empty() {
            let _ = write!(engine, ", {place}");
        }
        let cases = reports
            .into_iter()
            .map(|case| (case.case.clone(), case))
            .collect();
        Self::Ran {
            engine,
            cases,
            torture,
            failure,
        }
    }
}

impl BackendOutcome {
    /// The cell of a contract; none if nothing ran.
    pub(super) fn tally(&self, names: &[CaseName]) -> Option<Tally> {
        let Status::Ran { cases, .. } = &self.status else {
            return None;
        };
        let mut tally = Tally::default();
        for name in names {
            match cases.get(&name.to_string()) {
                Some(case) => {
                    tally.millis += case.millis;
                    *(if case.passed {
                        &mut tally.passed
                    } else {
                        &mut tally.failed
                    }) += 1;
                }
                None => tally.missing += 1,
            }
        }
        Some(tally)
    }

    /// What the torture tests did; none if nothing ran.
    pub(super) fn torture(&self) -> Option<&torture::Outcome> {
        match &self.status {
            Status::Ran { torture, .. } => Some(torture),
            _ => None,
        }
    }

    fn faults(&self) -> Vec<String> {
        let name = self.row.name();
        let (cases, torture, failure) = match &self.status {
            Status::NotRun => return Vec::new(),
            Status::Unreachable(why) => return vec![format!("{name}: not reachable: {why}")],
            Status::Ran {
                cases,
                torture,
                failure,
                ..
            } => (cases, torture, failure),
        };
        let mut faults: Vec<_> = failure
            .iter()
            .map(|failure| format!("{name}: the tests ended with {failure}"))
            .collect();
        let mut missing = Vec::new();
        for case in all_cases() {
            match cases.get(&case.to_string()) {
                Some(case) if case.passed => {}
                Some(case) => faults.push(format!("{name}: {} failed", case.case)),
                None => missing.push(case),
            }
        }
        // A build that failed misses every case: one line says it.
        match missing.as_slice() {
            [] => {}
            some @ [_, _, _, _, ..] => {
                let mut line = format!("{name}: {} cases were not executed: ", some.len());
                let _ = write!(line, "{}, {} …", some[0], some[1]);
                faults.push(line);
            }
            few => faults.extend(
                few.iter()
                    .map(|case| format!("{name}: {case} was not executed")),
            ),
        }
        faults.extend(torture.faults());
        // A case that is in no list would be tested by nobody else.
        faults.extend(
            cases
                .keys()
                .filter(|ran| !all_cases().any(|case| case.to_string() == **ran))
                .map(|ran| {
                    format!("{name}: {ran} is in no list; is storetest of another version?")
                }),
        );
        faults
    }
}

pub(super) fn all_cases() -> impl Iterator<Item = CaseName> {
    CONTRACTS
        .iter()
        .flat_map(|(_, _, names)| names.iter().copied())
}

impl Report {
    pub(super) fn new(outcomes: Vec<BackendOutcome>) -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            outcomes,
            finished_at: now.as_secs(),
        }
    }

    /// Everything that keeps the report from being clean.
    pub(super) fn faults(&self) -> Vec<String> {
        self.outcomes
            .iter()
            .flat_map(BackendOutcome::faults)
            .collect()
    }

    pub(super) fn to_json(&self) -> Value {
        let backends = self.outcomes.iter().map(|outcome| {
            let name = outcome.row.name();
            let (engine, cases, torture, failure) = match &outcome.status {
                Status::NotRun => return json!({ "backend": name, "status": "not run" }),
                Status::Unreachable(why) => {
                    return json!({ "backend": name, "status": "not reachable", "failure": why });
                }
                Status::Ran {
                    engine,
                    cases,
                    torture,
                    failure,
                } => (engine, cases, torture, failure),
            };
            let contracts = CONTRACTS.iter().map(|(contract, _, names)| {
                let tally = outcome.tally(names).unwrap_or_default();
                let cell = json!({
                    "passed": tally.passed,
                    "failed": tally.failed,
                    "missing": tally.missing,
                    "millis": tally.millis,
                });
                ((*contract).to_owned(), cell)
            });
            let cases = cases.values().map(
                |case| json!({ "case": case.case, "passed": case.passed, "millis": case.millis }),
            );
            json!({
                "backend": name,
                "status": "ran",
                "engine": engine,
                "failure": failure,
                "contracts": contracts.collect::<serde_json::Map<_, _>>(),
                "cases": cases.collect::<Vec<_>>(),
                "torture": torture.to_json(),
            })
        });
        json!({
            "finished_at": self.finished_at,
            "conforming": self.faults().is_empty(),
            "faults": self.faults(),
            "backends": backends.collect::<Vec<_>>(),
        })
    }
}
