//! The matrix backend × contract, for the terminal.

use std::fmt::Write as _;

use super::outcome::{BackendOutcome, CONTRACTS, Report, Status, Tally};
use crate::columns;

pub(super) fn render(report: &Report) -> String {
    let mut rows = vec![header()];
    rows.extend(report.outcomes.iter().map(row));
    columns::render(&rows)
}

fn header() -> Vec<String> {
    let mut row = vec!["backend".to_owned(), "engine".to_owned()];
    row.extend(CONTRACTS.iter().map(|(_, title, _)| (*title).to_owned()));
    row
}

fn row(outcome: &BackendOutcome) -> Vec<String> {
    let engine = match &outcome.status {
        Status::NotRun => "NOT RUN",
        Status::Unreachable(_) => "NOT REACHABLE",
        Status::Ran { engine, .. } => engine,
    };
    let mut row = vec![outcome.row.name(), engine.to_owned()];
    row.extend(
        CONTRACTS
            .iter()
            .map(|(_, _, names)| cell(outcome.tally(names))),
    );
    row
}

/// As in `44 of 44 passed in 1.2 s`.
pub(super) fn cell(tally: Option<Tally>) -> String {
    let Some(tally) = tally else {
        return "NOT RUN".to_owned();
    };
    let mut text = format!(
        "{} of {} passed in {:.1} s",
        tally.passed,
        tally.total(),
        tally.millis / 1e3
    );
    if tally.failed > 0 {
        let _ = write!(text, ", {} FAILED", tally.failed);
    }
    if tally.missing > 0 {
        let _ = write!(text, ", {} NOT EXECUTED", tally.missing);
    }
    text
}
