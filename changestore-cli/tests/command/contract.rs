//! `change-contract` for the owner: enable, status, bump, disable, export.

use rusqlite::Connection;
use serde_json::Value;

use super::*;

/// A database of somebody else's, with `user_version` 7.
const OTHERS: &str = "
    PRAGMA user_version = 7;
    CREATE TABLE threads (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE \"a:b=c,d\" (kind TEXT NOT NULL, n INT NOT NULL, PRIMARY KEY (kind, n)) WITHOUT ROWID;
    CREATE TABLE counts (n INTEGER);
    CREATE TABLE nullable (name TEXT PRIMARY KEY);
    CREATE VIEW titles AS SELECT title FROM threads;
    INSERT INTO threads VALUES (1, 'one');
";

pub(super) fn others(place: &Workplace) -> Connection {
    let database = Connection::open(place.path("o.db")).unwrap();
    database.execute_batch(OTHERS).unwrap();
    database
}

/// `changestore change-contract ARGUMENTS`, split at spaces.
pub(super) fn contract(place: &Workplace, arguments: &str) -> Ran {
    let arguments = arguments.split(' ').filter(|argument| !argument.is_empty());
    place.run(["change-contract"].into_iter().chain(arguments))
}

pub(super) fn status(place: &Workplace, db: &str) -> Value {
    json(&contract(place, &format!("status --db {db} --json")).ok())
}

fn position(line: &str) -> &str {
    let position = line.trim_end().strip_prefix("cursor     epoch ").unwrap();
    position.split_once(", ").unwrap().1
}

#[test]
fn a_database_of_others_from_enable_to_disable() {
    let place = Workplace::new();
    let database = others(&place);
    assert_eq!(
        contract(&place, "status --db o.db").ok(),
        "no change contract\n"
    );
    let enable = "enable --db o.db --user-version 7 --track threads --track counts:table \
                  --family all=threads,counts --family missing=threads,later --retention 5000";
    let enabled = contract(&place, enable).ok();
    let (first, cursor) = enabled.split_once('\n').unwrap();
    assert_eq!(first, "created    retention 5000");
    assert!(
        position(cursor).starts_with("generation 1, schema version "),
        "{cursor}"
    );
    assert!(cursor.ends_with(", seq 0\n"), "{cursor}");

    database
        .execute_batch("INSERT INTO threads VALUES (2, 'two'); INSERT INTO counts VALUES (1)")
        .unwrap();
    let shown = contract(&place, "status --db o.db").ok();
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].ends_with(", seq 2"), "{shown}");
    let expected = [
        "reason     created",
        "log        1 entries, retention 5000, pruned through 0",
        "table    mode   key  last seq  armed",
        "counts   table  -    2         yes",
        "threads  rows   id   1         yes",
        "family     all: counts, threads",
        "family     missing: later, threads",
        "warning    the family \"missing\": the table \"later\" does not exist",
    ];
    assert_eq!(lines[1..], expected);

    let unchanged = json(&contract(&place, &format!("{enable} --json")).ok());
    assert_eq!(unchanged["created"], false);
    assert_eq!(unchanged["added"], json("[]"));
    let epoch = unchanged["position"]["epoch"].clone();

    let bumped = contract(
        &place,
        "bump --db o.db --user-version 7 --reason rewritten --json",
    );
    let bumped = json(&bumped.ok());
    assert_eq!(
        (&bumped["epoch"], &bumped["generation"]),
        (&epoch, &Value::from(2))
    );
    assert_eq!(status(&place, "o.db")["generation_reason"], "rewritten");

    let exported = contract(&place, "export --db o.db --user-version 7 --to copy.db").ok();
    assert_eq!(exported, "exported   copy.db\n");
    assert_eq!(status(&place, "copy.db")["presence"], "absent");
    let copy = Connection::open(place.path("copy.db")).unwrap();
    let titles: i64 = copy
        .query_row("SELECT count(*) FROM titles", [], |row| row.get(0))
        .unwrap();
    assert_eq!(titles, 2);

    let disable = "disable --db o.db --user-version 7";
    assert_eq!(contract(&place, disable).ok(), "disabled\n");
    assert_eq!(
        contract(&place, disable).ok(),
        "there was no change contract\n"
    );
    let again = json(&contract(&place, &format!("{disable} --json")).ok());
    assert_eq!(again, json(r#"{"disabled":false}"#));
    let left: i64 = database
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'change_contract%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn what_a_migration_has_disarmed_is_said_and_armed_again() {
    let place = Workplace::new();
    let database = others(&place);
    let enable = "enable --db o.db --user-version 7";
    contract(
        &place,
        &format!("{enable} --track threads --track counts:table"),
    )
    .ok();
    database
        .execute_batch("DROP TRIGGER change_contract_threads_update")
        .unwrap();
    let shown = contract(&place, "status --db o.db").ok();
    let unarmed = "no: the trigger change_contract_threads_update is missing";
    assert!(shown.contains(unarmed), "{shown}");
    let armed = contract(&place, enable).ok();
    assert!(armed.starts_with("re-armed   threads\ncursor "), "{armed}");
    assert_eq!(status(&place, "o.db")["position"]["generation"], 2);

    let changed = contract(
        &place,
        &format!("{enable} --track threads --family f=threads"),
    )
    .ok();
    assert!(
        changed.starts_with("removed    counts\nfamilies   changed\n"),
        "{changed}"
    );
    let changed = contract(&place, &format!("{enable} --retention 2000")).ok();
    assert!(
        changed.starts_with("retention  changed to 2000\n"),
        "{changed}"
    );

    database
        .execute_batch("DROP TABLE change_contract_entries")
        .unwrap();
    let shown = contract(&place, "status --db o.db").ok();
    assert_eq!(
        shown,
        "parts of a change contract; enable replaces it with a new one\n"
    );
    let enabled = contract(&place, &format!("{enable} --track threads")).ok();
    assert!(
        enabled.starts_with("created    retention 2000\n"),
        "{enabled}"
    );
}

#[test]
fn a_store_of_ours_needs_no_version() {
    let place = Workplace::new();
    place.run(["schema", "apply"]).ok();
    let db = "--db changestore.db";
    let enable = "--track changestore_claims --family claims=changestore_claims";
    contract(&place, &format!("enable {db} {enable}")).ok();
    place
        .run(["claim", "create", "q", "r", "u1", "u2", "u1"])
        .ok();
    let status = status(&place, "changestore.db");
    assert_eq!(status["position"]["seq"], 2);
    assert_eq!(
        status["tables"][0]["key_columns"],
        json(r#"["queue","uri","request_id"]"#)
    );
    contract(&place, &format!("bump {db} --reason why")).ok();
    contract(&place, &format!("export {db} --to copy.db")).ok();
    let copied = ["--store", "copy.db", "claim", "list", "q", "u2"];
    assert!(place.run(copied).ok().starts_with("r  version 1"));
    contract(&place, &format!("disable {db}")).ok();

    // A store that a later version has migrated is not touched.
    Connection::open(place.path("changestore.db"))
        .unwrap()
        .execute_batch(
            "CREATE TEMP TABLE later AS SELECT * FROM changestore_migrations;
             UPDATE later SET version = 2;
             INSERT INTO changestore_migrations SELECT * FROM later",
        )
        .unwrap();
    let message = contract(&place, &format!("enable {db} {enable}")).failed(1);
    assert!(
        message.contains("schema ends with version 2, not 1"),
        "{message}"
    );
}

#[test]
fn a_writable_open_arms_again() {
    let place = Workplace::new();
    place.run(["schema", "apply"]).ok();
    contract(
        &place,
        "enable --db changestore.db --track changestore_claims",
    )
    .ok();
    Connection::open(place.path("changestore.db"))
        .unwrap()
        .execute_batch("DROP TRIGGER change_contract_changestore_claims_insert")
        .unwrap();
    assert_ne!(
        status(&place, "changestore.db")["tables"][0]["unarmed"],
        Value::Null
    );
    // Who only reads does not.
    assert_eq!(place.run(["claim", "list", "q", "u"]).status, Some(0));
    assert_ne!(
        status(&place, "changestore.db")["tables"][0]["unarmed"],
        Value::Null
    );
    place.run(["claim", "create", "q", "r", "u"]).ok();
    let status = status(&place, "changestore.db");
    assert_eq!(status["tables"][0]["unarmed"], Value::Null);
    assert_eq!(status["position"]["generation"], 2);
    assert_eq!(status["position"]["seq"], 1);
}

#[test]
fn refusals_name_the_reason_and_leave_nothing() {
    let enable = "enable --db o.db --user-version 7";
    let refusals = [
        (
            format!("{enable} --track nope"),
            "\"nope\" cannot be tracked: it does not exist",
        ),
        (
            format!("{enable} --track titles"),
            "\"titles\" cannot be tracked: it is a view",
        ),
        (
            format!("{enable} --track nullable"),
            "its primary key can be NULL in the column \"name\"",
        ),
        (
            format!("{enable} --track threads --track change_contract_log"),
            "contract itself",
        ),
        (
            format!("{enable} --track threads --track THREADS"),
            "\"threads\" is there twice",
        ),
        (enable.to_owned(), "there is nothing to track"),
        (
            "enable --db o.db --user-version 8 --track threads".to_owned(),
            "the database's user_version is 7, not 8",
        ),
        (
            "enable --db o.db --track threads".to_owned(),
            "o.db: not a store of this version's; --user-version N is for any other database\n  \
             caused by: sqlite: open: configuration: the database has no changestore tables",
        ),
        (
            "status --db o.db --user-version -1".to_owned(),
            "user_version is 7, not -1",
        ),
        ("disable --db o.db".to_owned(), "--user-version N"),
        (
            "export --db o.db --to copy.db".to_owned(),
            "--user-version N",
        ),
        (
            "export --db o.db --user-version 7 --to o.db".to_owned(),
            "o.db exists already",
        ),
        (
            "bump --db o.db --user-version 7 --reason why".to_owned(),
            "the database has no change contract",
        ),
        (
            "enable --db text.db --track t".to_owned(),
            "the file is not an SQLite database",
        ),
        (
            "status --db text.db".to_owned(),
            "the file is not an SQLite database",
        ),
        ("status --db missing.db".to_owned(), "missing.db is no file"),
        (
            "enable --db missing.db --track t".to_owned(),
            "missing.db is no file",
        ),
        (
            format!("{enable} --config missing.toml"),
            "cannot read missing.toml",
        ),
    ];
    let place = Workplace::new();
    others(&place);
    place.write("text.db", "this is no database, but a text of some length");
    for (arguments, reason) in refusals {
        let message = contract(&place, &arguments).failed(1);
        assert!(message.contains(reason), "{arguments}: {message}");
        assert_eq!(status(&place, "o.db")["presence"], "absent", "{arguments}");
    }
    let mut files: Vec<_> = fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files, ["o.db", "text.db"]);
}

#[test]
fn wrong_usage_exits_with_2_before_anything_is_opened() {
    for arguments in [
        "status",
        "enable --db o.db --track t:row",
        "enable --db o.db --track :rows",
        "enable --db o.db --family f=t",
        "enable --db o.db --track t --family f",
        "enable --db o.db --track t --config c",
        "enable --db o.db --track t --retention 1023",
        "enable --db o.db --track t --user-version seven",
        "bump --db o.db",
        "export --db o.db",
        "changes --db o.db",
        "changes --db o.db --family f --cursor {}",
        "changes --db o.db --family f --cursor=",
        "changes --db o.db --family f --batch 0",
        "changes --db o.db --family f --limit 1 --follow",
    ] {
        // There is no such database, which would be another failure.
        let ran = contract(&Workplace::new(), arguments);
        assert_eq!(ran.status, Some(2), "{arguments}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments}");
    }
}
