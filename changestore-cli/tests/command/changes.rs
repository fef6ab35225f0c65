//! `change-contract changes`: the reader's side.

use super::contract::{contract, others};
use super::*;

pub(super) const CHANGES: &str = "changes --db o.db --family f --cursor cursor";

/// A database of others' with the family `f`.
pub(super) fn tracked(place: &Workplace) -> rusqlite::Connection {
    let database = others(place);
    let toml = "[tables]\nthreads = \"rows\"\n\"a:b=c,d\" = \"rows\"\ncounts = \"table\"\n\
        [families]\nf = [\"threads\", \"a:b=c,d\"]\ncounts = [\"counts\"]\n";
    place.write("contract.toml", toml);
    let enable = "enable --db o.db --user-version 7 --config contract.toml --retention 1024";
    contract(place, enable).ok();
    database
}

#[test]
fn changes_since_the_cursor_in_its_file() {
    let place = Workplace::new();
    let database = tracked(&place);
    assert_eq!(
        contract(&place, CHANGES).ok(),
        "rebuild  there is no cursor yet\n"
    );
    assert_eq!(contract(&place, CHANGES).ok(), "unchanged\n");
    database
        .execute_batch(
            "INSERT INTO threads VALUES (2, 'two'), (3, 'three');
             UPDATE threads SET title = 'x' WHERE id = 1;
             UPDATE threads SET title = 'y' WHERE id = 2;
             DELETE FROM threads WHERE id = 3;
             INSERT INTO \"a:b=c,d\" VALUES ('1', 1);
             INSERT INTO counts VALUES (1)",
        )
        .unwrap();
    let changes = "update  threads  [1]\n\
        update  threads  [2]\n\
        delete  threads  [3]\n\
        insert  a:b=c,d  [\"1\",1]\n";
    assert_eq!(contract(&place, CHANGES).ok(), changes);
    assert_eq!(contract(&place, CHANGES).ok(), "unchanged\n");

    database.execute_batch("CREATE TABLE another (n)").unwrap();
    assert_eq!(
        contract(&place, CHANGES).ok(),
        "rebuild  the schema changed\n"
    );
    contract(&place, "bump --db o.db --user-version 7 --reason why").ok();
    let generation = "rebuild  the owner advanced the generation\n";
    assert_eq!(contract(&place, CHANGES).ok(), generation);
    fs::copy(place.path("o.db"), place.path("copy.db")).unwrap();
    fs::rename(place.path("copy.db"), place.path("o.db")).unwrap();
    let replaced = "rebuild  the file is another one than the cursor's\n";
    assert_eq!(contract(&place, CHANGES).ok(), replaced);
    contract(&place, "disable --db o.db --user-version 7").ok();
    let stored = fs::read(place.path("cursor")).unwrap();
    let absent = "rebuild  the archive has no change contract\n";
    assert_eq!(contract(&place, CHANGES).ok(), absent);
    assert_eq!(fs::read(place.path("cursor")).unwrap(), stored);
}

#[test]
fn json_says_the_types_the_decision_and_the_cursor() {
    let place = Workplace::new();
    let database = rusqlite::Connection::open(place.path("o.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE r (x REAL NOT NULL, y ANY NOT NULL, PRIMARY KEY (x, y)) STRICT",
        )
        .unwrap();
    contract(
        &place,
        "enable --db o.db --user-version 0 --track r --family f=r",
    )
    .ok();
    let changes = |cursor: &str| {
        let arguments = [
            "change-contract",
            "changes",
            "--db",
            "o.db",
            "--family",
            "f",
            "--json",
        ];
        place
            .run(arguments.into_iter().chain(["--cursor", cursor]))
            .ok()
    };
    let first = json(&changes("none"));
    assert_eq!(
        (&first["decision"], &first["reason"]),
        (&"rebuild".into(), &"no_cursor".into())
    );
    assert_eq!(first["message"], "there is no cursor yet");
    assert_eq!(first["cursor"]["seq"], 0);
    let cursor = first["cursor"].to_string();

    database
        .execute_batch(
            "INSERT INTO r VALUES (1, 1), (0.1, '1'), (-9e999, x'31ff'), (1e300, 'é\u{7}')",
        )
        .unwrap();
    let changes = changes(&cursor);
    let (rows, decision) = changes.trim_end().rsplit_once('\n').unwrap();
    // As text: not every JSON reader keeps these apart.
    let row = |key| {
        format!(r#"{{"table":"r","operation":"insert","key_columns":["x","y"],"key":{key}}}"#)
    };
    let expected = [
        "[1.0,1]",
        "[0.1,\"1\"]",
        "[-9e999,{\"blob\":\"31FF\"}]",
        "[1e300,\"é\\u0007\"]",
    ];
    assert_eq!(rows.lines().collect::<Vec<_>>(), expected.map(row));
    let decision = json(decision);
    assert_eq!(decision["decision"], "rows");
    assert_eq!(decision["rows"], 4);
    assert_eq!(decision["more"], false);
    assert_eq!(decision["cursor"]["seq"], 4);

    // People are told of a cursor that is in no file, and can give it back.
    let arguments = [
        "change-contract",
        "changes",
        "--db",
        "o.db",
        "--family",
        "f",
        "--cursor",
    ];
    let told = place
        .run(arguments.into_iter().chain([cursor.as_str()]))
        .ok();
    let next = told
        .lines()
        .last()
        .unwrap()
        .strip_prefix("cursor   ")
        .unwrap();
    assert_eq!(json(next), decision["cursor"]);
    let told = place.run(arguments.into_iter().chain([next])).ok();
    assert_eq!(told, format!("unchanged\ncursor   {next}\n"));
}

#[test]
fn many_changes_come_in_batches_and_up_to_a_limit() {
    let place = Workplace::new();
    let database = tracked(&place);
    contract(&place, CHANGES).ok();
    let insert = "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 109)
        INSERT INTO threads SELECT i, '' FROM n";
    database.execute_batch(insert).unwrap();
    let expected: Vec<_> = (10..110)
        .map(|id| format!("insert  threads  [{id}]"))
        .collect();

    let part = contract(&place, &format!("{CHANGES} --limit 30 --batch 7")).ok();
    assert_eq!(part.lines().collect::<Vec<_>>(), expected[..30]);
    let part = contract(&place, &format!("{CHANGES} --limit 1 --json")).ok();
    let (row, decision) = part.trim_end().split_once('\n').unwrap();
    assert_eq!(json(row)["key"], json("[40]"));
    assert_eq!(
        (&json(decision)["more"], &json(decision)["rows"]),
        (&true.into(), &1.into())
    );
    let rest = contract(&place, &format!("{CHANGES} --batch 7")).ok();
    assert_eq!(rest.lines().collect::<Vec<_>>(), expected[31..]);
    assert_eq!(contract(&place, CHANGES).ok(), "unchanged\n");

    // A row that is written again and again is one row, and the limit is one of rows.
    for _ in 0..5 {
        database
            .execute_batch("UPDATE threads SET title = '' WHERE id IN (1, 10)")
            .unwrap();
    }
    let both = "update  threads  [1]\nupdate  threads  [10]\n";
    assert_eq!(
        contract(&place, &format!("{CHANGES} --limit 10")).ok(),
        both
    );

    database
        .execute_batch(&insert.replace("10", "1000").replace("109", "3000"))
        .unwrap();
    let pruned = "rebuild  the log no longer reaches back to the cursor\n";
    assert_eq!(contract(&place, CHANGES).ok(), pruned);
    database
        .execute_batch("INSERT INTO counts VALUES (1)")
        .unwrap();
    let counts = "changes --db o.db --family counts --cursor counts.cursor";
    contract(&place, counts).ok();
    database
        .execute_batch("INSERT INTO counts VALUES (2)")
        .unwrap();
    let table = "rebuild  the table \"counts\" changed, of which only that is recorded\n";
    assert_eq!(contract(&place, counts).ok(), table);
}

#[test]
fn what_nobody_read_is_printed_again() {
    let place = Workplace::new();
    let database = tracked(&place);
    contract(&place, CHANGES).ok();
    database
        .execute_batch("UPDATE threads SET title = ''")
        .unwrap();
    let stored = fs::read(place.path("cursor")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(["change-contract"].into_iter().chain(CHANGES.split(' ')));
    let ran = Ran::new(command.stdout(writer).output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(141), ""));
    assert_eq!(fs::read(place.path("cursor")).unwrap(), stored);
    assert_eq!(contract(&place, CHANGES).ok(), "update  threads  [1]\n");
}

#[test]
fn a_cursor_that_is_none_is_refused_and_kept() {
    let place = Workplace::new();
    tracked(&place);
    for (bytes, reason) in [
        (&b""[..], "it is not JSON: EOF"),
        (b"{\"epoch\":\"e\"", "it is not JSON: EOF"),
        (
            b"{\"epoch\":\"e\",\"file\":{}}",
            "cursor is invalid: generation is missing",
        ),
        (b"\xff{}", "it is not UTF-8"),
    ] {
        let file = place.write("cursor", bytes);
        let message = contract(&place, CHANGES).failed(1);
        let begins = "error: cursor holds no cursor; where there is no such file, all is read anew\n  \
            caused by: ";
        assert!(message.starts_with(begins), "{message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!(fs::read(file).unwrap(), bytes);
    }
    let wrong = CHANGES.replace("--cursor cursor", "--cursor {\"epoch\":1}");
    let message = contract(&place, &wrong).failed(2);
    assert!(
        message.starts_with("error: cursor is invalid: "),
        "{message}"
    );
    let message = contract(&place, &CHANGES.replace("cursor cursor", "cursor .")).failed(1);
    assert!(message.starts_with("error: cannot read ."), "{message}");
    let message = contract(&place, &CHANGES.replace("cursor cursor", "cursor no/where")).failed(1);
    assert!(
        message.starts_with("error: cannot write no/where"),
        "{message}"
    );
}

#[test]
fn what_cannot_be_read_is_refused() {
    let place = Workplace::new();
    tracked(&place);
    place.write("text.db", "this is no database, but a text of some length");
    for (from, to, reason) in [
        (
            "--family f",
            "--family g",
            "no family \"g\", it has counts, f",
        ),
        ("o.db", "text.db", "the file is not an SQLite database"),
        ("o.db", "missing.db", "missing.db does not exist"),
    ] {
        let message = contract(&place, &CHANGES.replace(from, to)).failed(1);
        assert!(message.contains(reason), "{message}");
        assert!(!place.path("cursor").exists() && !place.path("missing.db").exists());
    }
}
