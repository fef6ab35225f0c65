//! The report as one page that needs nothing else: no script from elsewhere, no font, no server.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use storetest::CaseName;

use super::outcome::{BackendOutcome, CONTRACTS, Report, Status, Tally};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

pub(super) fn render(report: &Report) -> Markup {
    let faults = report.faults();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "changestore conformance" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "changestore conformance" }
                    p.sub {
                        "Every clause of the contracts, on every backend. Finished "
                        time data-seconds=(report.finished_at) { (report.finished_at) " s after the epoch" }
                        "."
                    }
                    (verdict(report, faults.len()))
                    @if !faults.is_empty() {
                        ul.faults { @for fault in &faults { li { (fault) } } }
                    }
                }
                main {
                    (summary(report))
                    label.filter {
                        "Show cases with "
                        input #filter type="search" placeholder="prefix, expired, race …";
                    }
                    @for (contract, title, names) in CONTRACTS {
                        (cases(report, contract, title, names))
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn verdict(report: &Report, faults: usize) -> Markup {
    let ran = report
        .outcomes
        .iter()
        .filter(|outcome| !matches!(outcome.status, Status::NotRun));
    let ran = ran.count();
    let left_out = report.outcomes.len() - ran;
    html! {
        @if faults > 0 { p.verdict.bad { (faults) " faults" } }
        // A report of some backends is no verdict on all of them.
        @else if left_out > 0 { p.verdict.absent { (ran) " conform, " (left_out) " not run" } }
        @else { p.verdict.good { "All backends conform" } }
    }
}

fn summary(report: &Report) -> Markup {
    html! {
        table.summary {
            thead {
                tr {
                    th { "Backend" }
                    th { "Engine" }
                    @for (_, title, _) in CONTRACTS { th { (title) } }
                }
            }
            tbody {
                @for outcome in &report.outcomes {
                    tr {
                        th scope="row" { (outcome.row.title()) }
                        td { (engine(outcome)) }
                        @for (_, _, names) in CONTRACTS { (tally_cell(outcome.tally(names))) }
                    }
                }
            }
        }
    }
}

fn engine(outcome: &BackendOutcome) -> &str {
    match &outcome.status {
        Status::NotRun => "not run",
        Status::Unreachable(_) => "not reachable",
        Status::Ran { engine, .. } => engine,
    }
}

fn tally_cell(tally: Option<Tally>) -> Markup {
    let Some(tally) = tally else {
        return html! { td.absent { "not run" } };
    };
    html! {
        td class=(if tally.is_clean() { "good" } else { "bad" }) {
            b { (tally.passed) " / " (tally.total()) }
            span.time { (seconds(tally.millis)) }
            @if tally.failed > 0 { " " (tally.failed) " failed" }
            @if tally.missing > 0 { " " (tally.missing) " not executed" }
        }
    }
}

fn cases(report: &Report, contract: &str, title: &str, names: &[CaseName]) -> Markup {
    let slowest = slowest(report, names);
    html! {
        section id=(contract) {
            h2 { (title) }
            table.cases {
                thead {
                    tr {
                        th { "Case" }
                        @for outcome in &report.outcomes { th { (outcome.row.name()) } }
                    }
                }
                @for topic in names.chunk_by(|a, b| a.topic == b.topic) {
                    tbody {
                        tr.topic { th colspan=(report.outcomes.len() + 1) { (topic[0].topic) } }
                        @for name in topic {
                            tr.case data-name=(name) {
                                th scope="row" { (name.case.replace('_', " ")) }
                                @for outcome in &report.outcomes { (case_cell(outcome, name, slowest)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn slowest(report: &Report, names: &[CaseName]) -> f64 {
    let times = report
        .outcomes
        .iter()
        .flat_map(|outcome| match &outcome.status {
            Status::NotRun | Status::Unreachable(_) => Vec::new(),
            Status::Ran { cases, .. } => names
                .iter()
                .filter_map(|name| cases.get(&name.to_string()))
                .map(|case| case.millis)
                .collect(),
        });
    times.fold(1.0, f64::max)
}

fn case_cell(outcome: &BackendOutcome, name: &CaseName, slowest: f64) -> Markup {
    let Status::Ran { cases, .. } = &outcome.status else {
        return html! { td.absent { "–" } };
    };
    let Some(case) = cases.get(&name.to_string()) else {
        return html! { td.bad { "not executed" } };
    };
    // The bar's root, so that the many quick cases can be told apart beside the few slow ones.
    let width = (case.millis / slowest).sqrt() * 100.0;
    html! {
        td class=(if case.passed { "good" } else { "bad" }) {
            (if case.passed { "✓" } else { "✗ failed" })
            span.time { (seconds(case.millis)) }
            span.bar style=(format!("width: {width:.0}%")) {}
        }
    }
}

fn seconds(millis: f64) -> String {
    match millis {
        ..10.0 => format!("{millis:.1} ms"),
        ..1_000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.1} s", millis / 1e3),
    }
}
