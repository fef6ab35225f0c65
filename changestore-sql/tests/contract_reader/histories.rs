//! Random histories: the contract's own SQL in Python, our reader, and a copy that is kept by it, after each
//! step.
//!
//! `CONTRACT_HISTORIES` is how many, `CONTRACT_SEED` the first one's seed. A failure names the seed and the steps.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use changestore_sql::contract::{ContractReader, Cursor, Poll};
use rusqlite::Connection;
use serde_json::Value;

use crate::archive::{Archive, Consumer, TABLES, plan};
use crate::oracle::Oracle;
use crate::random::{Random, quiet, write, writes};
use crate::typed;
use crate::writers::{attached, run, shell};

const STEPS: u64 = 6;

/// What a step has done, as far as the reader's answer follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Rows may have been written.
    Writes,
    /// No row of a tracked table is another one.
    Nothing,
    /// Whoever has a cursor must read everything anew.
    Rebuild,
}

struct History<'a> {
    random: Random,
    oracle: &'a mut Oracle,
    archive: Archive,
    application: Connection,
    /// What was done, for the message of a failure.
    log: String,
}

impl History<'_> {
    async fn step(&mut self) -> Effect {
        match self.random.below(40) {
            0 => self.owner("bump").await,
            1 => self.owner("enable").await,
            2 => self.owner("disable, enable").await,
            3 => {
                self.ddl("DROP TRIGGER IF EXISTS change_contract_plain_update");
                Effect::Rebuild
            }
            4 => {
                self.ddl("DROP TRIGGER IF EXISTS \"change_contract_a b_delete\"");
                let statements = writes(&mut self.random);
                self.apply(&statements);
                self.owner("enable").await;
                Effect::Rebuild
            }
            5 => {
                self.ddl("DROP TABLE IF EXISTS passing; CREATE TABLE passing(x)");
                Effect::Rebuild
            }
            6 => {
                self.ddl("VACUUM");
                Effect::Rebuild
            }
            7 => {
                self.ddl(
                    "BEGIN; CREATE TABLE fresh(k NOT NULL PRIMARY KEY, v);
                     INSERT INTO fresh SELECT k, 'rebuilt' FROM mixed;
                     DROP TABLE mixed; ALTER TABLE fresh RENAME TO mixed; COMMIT",
                );
                Effect::Rebuild
            }
            8 => {
                self.ddl("DROP TRIGGER IF EXISTS change_contract_log_prune");
                Effect::Rebuild
            }
            // More than the log keeps.
            9 | 10 => {
                let statements = [
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1300)
                     INSERT INTO heap(v) SELECT i FROM n",
                    "DELETE FROM heap WHERE v > 5 AND u IS NULL",
                ];
                self.apply(&statements.map(str::to_owned));
                Effect::Writes
            }
            11..16 => {
                let statements = quiet(&mut self.random);
                self.apply(&statements);
                Effect::Nothing
            }
            _ => {
                let statements = writes(&mut self.random);
                self.apply(&statements);
                Effect::Writes
            }
        }
    }

    async fn owner(&mut self, command: &str) -> Effect {
        let _ = writeln!(self.log, "owner: {command}");
        let owner = self.archive.owner().await;
        match command {
            "bump" => {
                // Where there is no contract there is nothing to advance.
                let _ = owner.bump("a history").await;
                Effect::Rebuild
            }
            "enable" => {
                owner.enable(&plan()).await.unwrap();
                // Idempotent where all is armed; the cursor decides.
                Effect::Writes
            }
            _ => {
                owner.disable().await.unwrap();
                if self.random.once_in(2) {
                    owner.enable(&plan()).await.unwrap();
                }
                Effect::Rebuild
            }
        }
    }

    fn ddl(&mut self, sql: &str) {
        let _ = writeln!(self.log, "ddl: {sql}");
        self.application.execute_batch(sql).unwrap();
    }

    /// By one of the writers.
    fn apply(&mut self, statements: &[String]) {
        match self.random.below(24) {
            0..4 => {
                let _ = writeln!(self.log, "Python: {statements:#?}");
                self.oracle.write(&self.archive.path, statements);
            }
            4 => {
                let _ = writeln!(self.log, "shell: {statements:#?}");
                shell(&self.archive.path, statements);
            }
            5..7 => {
                let _ = writeln!(self.log, "ATTACH: {statements:#?}");
                attached(&self.archive.path, statements);
            }
            _ => {
                let _ = writeln!(self.log, "application: {statements:#?}");
                run(&self.application, statements);
            }
        }
    }
}

/// A poll in a form that both readers' answers have.
#[derive(Debug, PartialEq)]
struct Answer {
    decision: String,
    /// Epoch, generation, schema version, sequence.
    cursor: Option<(String, i64, i64, i64)>,
    rows: BTreeSet<String>,
}

fn of_python(answer: &Value) -> Answer {
    let cursor = answer["cursor"].as_object();
    let number = |value: &Value| value.as_i64().unwrap();
    Answer {
        decision: answer["decision"].as_str().unwrap().to_owned(),
        cursor: cursor.map(|cursor| {
            (
                cursor["epoch"].as_str().unwrap().to_owned(),
                number(&cursor["generation"]),
                number(&cursor["schema_version"]),
                number(&cursor["seq"]),
            )
        }),
        rows: answer["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

/// The same of our reader; Python's column order is the table's, which the columns listed here are put into.
async fn of_ours(reader: &mut ContractReader, cursor: Option<&Cursor>) -> Answer {
    let mut snapshot = reader.snapshot(cursor).await.unwrap();
    let mut rows = BTreeSet::new();
    for (table, _, _) in TABLES {
        let columns = python_columns(table);
        for row in snapshot.rows(table, columns).await.unwrap() {
            let values: Option<Vec<_>> = row
                .values
                .map(|values| values.iter().map(typed::ours).collect());
            let row =
                serde_json::json!([table, typed::key(&row.key), row.operation.as_str(), values]);
            rows.insert(row.to_string());
        }
    }
    let poll = snapshot.end().await.unwrap();
    let cursor = poll.next().map(|next| {
        (
            next.epoch.clone(),
            next.generation,
            next.schema_version,
            next.seq,
        )
    });
    let decision = match &poll {
        Poll::Unchanged { .. } => "unchanged",
        Poll::Rows(changes) => {
            assert!(!changes.more, "the batch was to hold them all");
            assert_eq!(changes.rows.len(), rows.len());
            "rows"
        }
        Poll::Rebuild { .. } => "rebuild",
    };
    // The poll without a snapshot says the same.
    Answer {
        decision: decision.to_owned(),
        cursor,
        rows,
    }
}

/// What is fetched in one statement is what a snapshot reads, row by row.
async fn fetched_is_the_same(reader: &mut ContractReader, cursor: Option<&Cursor>, log: &str) {
    let wanted: Vec<_> = TABLES
        .iter()
        .map(|(table, _, columns)| (*table, *columns))
        .collect();
    let fetched = reader.fetch(cursor, &wanted).await.unwrap();
    // Its batches are smaller.
    if matches!(&fetched.poll, Poll::Rows(changes) if changes.more) {
        return;
    }
    let mut snapshot = reader.snapshot(cursor).await.unwrap();
    assert_eq!(fetched.poll, *snapshot.poll(), "at\n{log}");
    for (table, columns) in wanted {
        let rows = snapshot.rows(table, columns).await.unwrap();
        assert_eq!(fetched.rows(table), rows, "{table}, at\n{log}");
    }
    snapshot.end().await.unwrap();
}

/// As `SELECT *` gives them.
fn python_columns(table: &str) -> &'static [&'static str] {
    match table {
        "child" => &["id", "v", "parent"],
        "heap" => &["v", "u"],
        _ => TABLES.iter().find(|(name, ..)| *name == table).unwrap().2,
    }
}

async fn history(seed: u64, oracle: &mut Oracle, template: &Path) {
    let archive = Archive::copy_of(template);
    let mut history = History {
        random: Random(seed),
        application: archive.connect(),
        archive,
        oracle,
        log: format!("seed {seed}\n"),
    };
    if history.random.once_in(5) {
        history
            .application
            .pragma_update(None, "journal_mode", "delete")
            .unwrap();
    }
    let path = history.archive.path.clone();
    let all: Vec<_> = TABLES.iter().map(|(table, ..)| *table).collect();
    let batch = u32::try_from(1 + history.random.below(7)).unwrap();
    let mut consumer = Consumer::new(&path, "rows", &all, batch).await;
    let mut readers = [
        history.archive.reader("rows").await,
        history.archive.reader("counted").await,
    ];
    let mut cursors = [Value::Null, Value::Null];
    let mut settled = false;
    for step in 0..STEPS {
        let effect = history.step().await;
        let log = &history.log;
        for (reader, cursor) in readers.iter_mut().zip(&mut cursors) {
            let theirs = history.oracle.poll(&path, reader.family(), cursor);
            let given: Option<Cursor> = serde_json::from_value(cursor.clone()).ok();
            let ours = of_ours(reader, given.as_ref()).await;
            assert_eq!(
                ours,
                of_python(&theirs),
                "ours and the contract's own SQL, at\n{log}"
            );
            fetched_is_the_same(reader, given.as_ref(), log).await;
            let polled = reader.poll(given.as_ref()).await.unwrap();
            let keys = match &polled {
                Poll::Rows(changes) => changes.rows.len(),
                _ => 0,
            };
            assert_eq!(
                keys,
                ours.rows.len(),
                "with a snapshot and without, at\n{log}"
            );
            match effect {
                Effect::Rebuild => assert_eq!(ours.decision, "rebuild", "at\n{log}"),
                Effect::Nothing if settled => {
                    assert_eq!(ours.decision, "unchanged", "at\n{log}");
                }
                Effect::Nothing | Effect::Writes => {}
            }
            *cursor = theirs["cursor"].clone();
        }
        // The copy is let fall behind now and then.
        if history.random.once_in(3) && step + 1 < STEPS {
            settled = false;
            continue;
        }
        consumer.catch_up().await;
        consumer.check(log);
        // A contract that is there and armed: from here on only what is written is reported.
        settled = matches!(consumer.step().await, Poll::Unchanged { .. });
    }
}

/// Some rows to begin with, and a log of the smallest size.
async fn template() -> Archive {
    let archive = Archive::bare();
    let mut random = Random(7);
    let connection = archive.connect();
    for table in crate::random::TRACKED {
        let statements: Vec<_> = (0..12).map(|_| write(&mut random, table)).collect();
        run(&connection, &statements);
    }
    archive.owner().await.enable(&plan()).await.unwrap();
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    archive
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn our_reader_agrees_with_the_contracts_own_sql_and_keeps_a_true_copy() {
    let (first, many) = (
        setting("CONTRACT_SEED", 1),
        setting("CONTRACT_HISTORIES", 1_000),
    );
    std::thread::scope(|threads| {
        for share in 0..2 {
            threads.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                runtime.unwrap().block_on(async {
                    let template = template().await;
                    let mut oracle = Oracle::start();
                    for seed in (first..first + many).filter(|seed| seed % 2 == share) {
                        history(seed, &mut oracle, &template.path).await;
                    }
                });
            });
        }
    });
}
