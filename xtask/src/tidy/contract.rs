//! CONTRACT.md against the lists of cases.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};
use storetest::CaseName;

use super::Findings;

const FILE: &str = "CONTRACT.md";

pub(super) fn check() -> Result<Findings> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let cases = storetest::change::CASES
        .iter()
        .chain(storetest::document::CASES);
    Ok(compare(&text, cases.copied()))
}

/// A clause is a list item; what it names in backticks with `::` between are cases.
fn compare(text: &str, cases: impl Iterator<Item = CaseName>) -> Findings {
    let known: BTreeSet<String> = cases.map(|case| case.to_string()).collect();
    let mut unnamed = known.clone();
    let mut findings = Findings::new();
    for clause in clauses(text) {
        let mut names = 0;
        for name in quoted(&clause.text).filter(|name| is_case_name(name)) {
            if known.contains(name) {
                unnamed.remove(name);
                names += 1;
            } else {
                findings.push(format!("{FILE}:{}: there is no case {name}", clause.line));
            }
        }
        if names == 0 {
            let start: String = clause.text.chars().take(60).collect();
            findings.push(format!("{FILE}:{}: names no case: {start} …", clause.line));
        }
    }
    findings.extend(
        unnamed
            .iter()
            .map(|name| format!("{FILE}: no clause names the case {name}")),
    );
    findings
}

struct Clause {
    line: usize,
    text: String,
}

/// The list items of the text, each with the lines that go on in it.
fn clauses(text: &str) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("- ") {
            clauses.push(Clause {
                line: at + 1,
                text: String::new(),
            });
            open = true;
        } else if line.trim().is_empty() || line.starts_with('#') {
            open = false;
        }
        if open && let Some(clause) = clauses.last_mut() {
            clause.text.push_str(line.trim());
            clause.text.push(' ');
        }
    }
    clauses
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_case_name(name: &str) -> bool {
    name.starts_with("change::") || name.starts_with("document::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: CaseName = CaseName {
        contract: "change",
        topic: "create",
        case: "first",
    };

    fn findings(text: &str) -> Findings {
        compare(text, [CASE].into_iter())
    }

    #[test]
    fn a_clause_that_names_its_case_is_fine() {
        assert!(findings("# Claims\n- Once.\n  `change::create::first`\n\nText.").is_empty());
    }

    #[test]
    fn each_fault_is_found() {
        assert_eq!(
            findings("- Once: `change::create::first`\n- Twice, says `code`."),
            ["CONTRACT.md:2: names no case: - Twice, says `code`.  …"]
        );
        assert_eq!(
            findings("- `change::create::first`, `change::create::second`"),
            ["CONTRACT.md:1: there is no case change::create::second"]
        );
        assert_eq!(
            findings("Nothing."),
            ["CONTRACT.md: no clause names the case change::create::first"]
        );
    }
}
