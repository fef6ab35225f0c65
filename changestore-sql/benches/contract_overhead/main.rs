//! What the journal costs a writer: the time of a transaction with triggers over its time without.
//!
//! `cargo bench -p changestore-sql --features sqlite --bench contract_overhead [-- ROWS ROUNDS]`
//!
//! SQLite's session extension is among them where it is compiled in, which takes libclang:
//! `RUSTFLAGS='--cfg session_extension' cargo bench -p changestore-sql --features sqlite,rusqlite/session
//! --bench contract_overhead --target-dir target/session`
//!
//! Rounds are interleaved, so that a slower minute of the machine is everybody's; the medians of the processor's time are
//! compared. Commits are not measured. The output is a page of Markdown.

mod clock;
mod forms;
mod size;

use std::collections::BTreeMap;
use std::time::Duration;

use forms::{Form, Key, Table, Width};

const OPERATIONS: [&str; 4] = ["insert", "update", "upsert", "delete"];

fn main() {
    // Cargo passes its own arguments, such as --bench.
    let numbers: Vec<usize> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let rows = numbers.first().copied().unwrap_or(100_000);
    let rounds = numbers.get(1).copied().unwrap_or(7);
    println!("{rows} rows, medians of {rounds} rounds.");
    for width in Width::ALL {
        compare(width, rows, rounds);
    }
    size::print(rows);
}

fn compare(width: Width, rows: usize, rounds: usize) {
    let mut times: BTreeMap<_, Vec<Duration>> = BTreeMap::new();
    for _ in 0..rounds {
        for key in Key::ALL {
            for &form in Form::ALL {
                for (operation, time) in OPERATIONS.iter().zip(measure(form, key, width, rows)) {
                    times.entry((form, key, *operation)).or_default().push(time);
                }
            }
        }
    }
    let median = |form, key, operation| {
        let mut times = times[&(form, key, operation)].clone();
        times.sort();
        times[times.len() / 2]
    };
    println!("\n### {}\n", width.title());
    println!("| | {} | geometric mean |", columns().join(" | "));
    println!("|---|{}---:|", "---:|".repeat(columns().len()));
    for &form in Form::ALL {
        let mut cells = Vec::new();
        let mut logarithms = 0.0;
        for key in Key::ALL {
            for operation in OPERATIONS {
                let time = median(form, key, operation).as_secs_f64();
                let base = median(Form::Bare, key, operation).as_secs_f64();
                logarithms += (time / base).ln();
                cells.push(if form == Form::Bare {
                    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
                    format!("{:.2} µs", time * 1e6 / f64::from(rows))
                } else {
                    format!("{:.2}", time / base)
                });
            }
        }
        let count = u32::try_from(cells.len()).unwrap_or(u32::MAX);
        let mean = (logarithms / f64::from(count)).exp();
        println!("| {} | {} | {mean:.2} |", form.name(), cells.join(" | "));
    }
}

fn columns() -> Vec<String> {
    let columns = Key::ALL.iter().flat_map(|key| {
        OPERATIONS
            .iter()
            .map(move |operation| format!("{}: {operation}", key.name()))
    });
    columns.collect()
}

/// The four operations, each on all rows, within one transaction.
fn measure(form: Form, key: Key, width: Width, rows: usize) -> Vec<Duration> {
    let table = Table::new(form, key, width);
    let connection = &table.connection;
    let text = width.text();
    connection.execute_batch("BEGIN").unwrap();
    let mut times = Vec::new();
    let mut run = |sql: &str, from: usize| {
        let mut statement = connection.prepare(sql).unwrap();
        #[cfg(session_extension)]
        let mut session = (form == Form::Session).then(|| {
            let mut session = rusqlite::session::Session::new(connection).unwrap();
            session.attach(Some("t")).unwrap();
            session
        });
        let start = clock::now();
        for row in from..from + rows {
            let number = i64::try_from(row).unwrap();
            match key {
                Key::Integer => statement.execute((number, &text)),
                Key::Composite => {
                    statement.execute((number / 10, format!("PRRT_kwDOA{row:08}"), &text))
                }
            }
            .unwrap();
        }
        #[cfg(session_extension)]
        if let Some(session) = &mut session {
            std::hint::black_box(session.changeset().unwrap());
        }
        times.push(clock::now().saturating_sub(start));
    };
    let statements = key.statements(width);
    run(&statements[0], 0);
    run(&statements[1], 0);
    // Half of them update, half insert.
    run(&statements[2], rows / 2);
    run(&statements[3], 0);
    connection.execute_batch("ROLLBACK").unwrap();
    times
}
