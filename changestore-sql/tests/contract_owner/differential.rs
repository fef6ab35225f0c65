//! A database with the contract beside one without: any statement has the same result in both, and the
//! journal tells every row that differs from what it was.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rusqlite::Connection;

use crate::archive::Archive;

/// Key types and unique indexes of every kind that the journal sees through, cascades, and a user's triggers.
const SCHEMA: &str = "
    CREATE TABLE a(k INTEGER PRIMARY KEY, u UNIQUE, v);
    CREATE TABLE b(k TEXT NOT NULL, l NOT NULL, u INT UNIQUE, v, PRIMARY KEY(k COLLATE NOCASE, l));
    CREATE TABLE c(k TEXT PRIMARY KEY COLLATE NOCASE, u TEXT NOT NULL DEFAULT 'd', v,
        g AS (lower(v)) UNIQUE, UNIQUE(u, v)) WITHOUT ROWID;
    CREATE TABLE d(k REAL, l, v REFERENCES a(k) ON DELETE CASCADE ON UPDATE SET NULL, u,
        PRIMARY KEY(k, l)) WITHOUT ROWID;
    CREATE TABLE e(k, u UNIQUE, v);
    CREATE TRIGGER a_to_e AFTER INSERT ON a BEGIN
        INSERT OR IGNORE INTO e(k, u) VALUES (NEW.k, NEW.u);
        UPDATE a SET v = 'seen' WHERE k = NEW.k AND v IS NULL;
    END;";

const TABLES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// What identifies a row, as the log has it for one column and, for several, for SQL to compare.
const KEYS: [&str; 5] = [
    "quote(k)",
    "quote(k) || quote(l)",
    "quote(k)",
    "quote(k) || quote(l)",
    "rowid",
];

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "NULL",
        "0",
        "1",
        "2",
        "3",
        "1.0",
        "2.5",
        "'1'",
        "'a'",
        "'A'",
        "'a '",
        "'b'",
        "x'61'",
        "x'31'",
        "-9223372036854775808",
        "9e999",
        "'d'",
        "abs(0)",
    ])
}

fn statement() -> impl Strategy<Value = String> {
    let table = prop::sample::select(TABLES.to_vec());
    let clause = prop::sample::select(vec![
        "",
        "",
        " OR IGNORE",
        " OR REPLACE",
        " OR REPLACE",
        " OR FAIL",
        " OR ROLLBACK",
    ]);
    let column = prop::sample::select(vec!["k", "u", "v", "l", "rowid"]);
    let insert = (
        clause.clone(),
        table.clone(),
        value(),
        value(),
        value(),
        value(),
        0..4_u8,
    )
        .prop_map(|(clause, table, k, u, v, l, upsert)| {
            let (columns, values) = match table {
                "b" | "d" => ("k, u, v, l", format!("{k}, {u}, {v}, {l}")),
                _ => ("k, u, v", format!("{k}, {u}, {v}")),
            };
            let upsert = match upsert {
                0 => " ON CONFLICT DO NOTHING".to_owned(),
                1 if table != "d" => format!(" ON CONFLICT DO UPDATE SET v = {l}"),
                _ => String::new(),
            };
            format!("INSERT{clause} INTO {table}({columns}) VALUES ({values}), ({values}){upsert}")
        });
    let update = (
        clause,
        table.clone(),
        column.clone(),
        value(),
        column.clone(),
        value(),
    )
        .prop_map(|(clause, table, set, to, by, is)| {
            format!("UPDATE{clause} {table} SET {set} = {to} WHERE {by} = {is}")
        });
    let move_all = (table.clone(), column.clone()).prop_map(|(table, column)| {
        format!(
            "UPDATE OR REPLACE {table} SET {column} = {column} || '' WHERE {column} IS NOT NULL"
        )
    });
    let delete = (table.clone(), column, value())
        .prop_map(|(table, column, value)| format!("DELETE FROM {table} WHERE {column} = {value}"));
    let bare = table.prop_map(|table| format!("DELETE FROM {table}"));
    let other = prop::sample::select(vec![
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT s",
        "ROLLBACK TO s",
        "RELEASE s",
        "PRAGMA recursive_triggers = ON",
        "PRAGMA recursive_triggers = OFF",
    ])
    .prop_map(str::to_owned);
    prop_oneof![12 => insert, 6 => update, 1 => move_all, 3 => delete, 1 => bare, 4 => other]
}

/// Rows of all tables by table and key.
fn rows(connection: &Connection) -> BTreeMap<(usize, String), String> {
    let mut rows = BTreeMap::new();
    for (place, (table, key)) in TABLES.iter().zip(KEYS).enumerate() {
        let more = if matches!(*table, "b" | "d") {
            " || '|' || quote(l)"
        } else {
            ""
        };
        let sql = format!(
            "SELECT {key} || '', quote(k) || '|' || quote(u) || '|' || quote(v){more} FROM {table}"
        );
        let mut statement = connection.prepare_cached(&sql).unwrap();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            rows.insert((place, row.get(0).unwrap()), row.get(1).unwrap());
        }
    }
    rows
}

fn result(connection: &Connection, sql: &str) -> (Result<(), String>, i64, i64) {
    let result = connection
        .execute_batch(sql)
        .map_err(|error| error.to_string());
    let changes = connection
        .query_row("SELECT changes()", [], |row| row.get(0))
        .unwrap();
    (result, changes, connection.last_insert_rowid())
}

/// The keys that the log tells after a number, as `rows` has them, with the latest op.
fn told(archive: &Archive, seq: i64) -> BTreeMap<(usize, String), i64> {
    let mut told = BTreeMap::new();
    for (_, table, op, key) in archive.log_after(seq) {
        let place = TABLES.iter().position(|name| **name == *table).unwrap();
        told.insert((place, canonical(&archive.writer, place, &key)), op);
    }
    told
}

/// From the log's form to that of `KEYS`: quoted values side by side.
fn canonical(connection: &Connection, place: usize, key: &str) -> String {
    if !matches!(TABLES[place], "b" | "d") {
        return key.to_owned();
    }
    let text = key
        .trim_matches('\'')
        .replace("''", "'")
        .replace("9e999", "\"inf\"");
    let parts: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let part = |part: serde_json::Value| match &part {
        serde_json::Value::String(text) if text == "inf" => "9.0e+999".to_owned(),
        serde_json::Value::String(text) => format!("'{text}'"),
        serde_json::Value::Object(tagged) => match (&tagged.get("real"), &tagged.get("blob")) {
            (Some(real), None) => {
                let (whole, exponent) = (real[0].as_f64().unwrap(), real[1].as_i64().unwrap());
                let real = whole * 2_f64.powi(i32::try_from(exponent).unwrap());
                connection
                    .query_row("SELECT quote(?1)", [real], |row| row.get(0))
                    .unwrap()
            }
            (None, Some(blob)) => format!("X'{}'", blob.as_str().unwrap()),
            _ => panic!("{part}"),
        },
        _ => part.to_string(),
    };
    parts.into_iter().map(part).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_writer_cannot_tell_and_the_journal_tells_all(statements in prop::collection::vec(statement(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let archive = runtime.block_on(Archive::tracking(SCHEMA, &TABLES));
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch("PRAGMA foreign_keys = ON").unwrap();
        twin.execute_batch(SCHEMA).unwrap();
        for sql in &statements {
            let before = rows(&archive.writer);
            let seq = archive.seq();
            let ours = result(&archive.writer, sql);
            let theirs = result(&twin, sql);
            prop_assert_eq!(&ours, &theirs, "{}", sql);
            let after = rows(&archive.writer);
            prop_assert_eq!(&after, &rows(&twin), "{}", sql);
            let is_undo = archive.seq() < seq || sql.starts_with("ROLL") || sql.contains("OR ROLLBACK");
            if is_undo {
                continue;
            }
            // Soundness: what differs is told, and rightly. Exactness: where nothing was written nothing is.
            let told = told(&archive, seq);
            let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let (old, new) = (before.get(key), after.get(key));
                match (told.get(key), new) {
                    (None, _) => prop_assert_eq!(old, new, "{}: {:?} is not told", sql, key),
                    (Some(3), new) => prop_assert_eq!(new, None, "{}: {:?} is there", sql, key),
                    (Some(_), new) => prop_assert!(new.is_some(), "{}: {:?} is gone", sql, key),
                }
            }
            for (key, op) in &told {
                let known = before.contains_key(key) || after.contains_key(key);
                prop_assert!(known || *op == 3, "{}: {:?} {} is told of nothing", sql, key, op);
            }
            let entries = archive.log_after(seq).len();
            prop_assert_eq!(i64::try_from(entries).unwrap(), archive.seq() - seq, "{}", sql);
            let last = archive.number("SELECT max(last_seq) FROM change_contract_tables");
            prop_assert_eq!(last, archive.seq());
        }
    }
}
