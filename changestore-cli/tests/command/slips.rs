//! What is easily typed wrongly, and what is said of it.

use super::*;

/// What a call that is wrong usage says; nothing is created.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let place = Workplace::new();
    let message = place.run(arguments).failed(2);
    let created = fs::read_dir(place.folder.path()).unwrap().count();
    assert_eq!(created, 0, "{arguments:?}");
    message
}

#[test]
fn a_store_without_its_colon_is_no_file() {
    for store in ["mem", "memory", "MEM", ":memory:"] {
        let message = refused(&["--store", store, "doc", "put", "a", "b", "c"]);
        assert!(message.contains("say `mem:`"), "{message}");
    }
    for (store, words) in [
        ("sqlite", "say `sqlite:PATH`"),
        ("postgres", "say `postgres://"),
        ("mariadb", "say `mysql://"),
    ] {
        let message = refused(&["--store", store, "doc", "put", "a", "b", "c"]);
        assert!(message.contains(words), "{message}");
    }
    let place = Workplace::new();
    place.run(["--store", "./mem", "schema", "apply"]).ok();
    assert!(place.path("mem").exists());
}

#[test]
fn a_user_and_password_are_never_repeated() {
    for store in [
        "sqlite://scott:hunter2@host/x.db",
        "sqlite://scott:hun/ter2@host/x.db",
        "mem://scott:hunter2@host",
        "postgres://scott:hunter2@host:port/d",
        "postgres://scott:hun/ter2@host/d",
        "postgres://scott:hunter2@host/d?pasword=hunter2",
        "postgres://scott:hunter2@host/d?connections=hunter2",
        "mysql://scott:hunter2@host",
        "mariadb://scott:hunter2@host:port/d",
        "mysql://scott:hunter2@host/d?ssl-mode=hunter2",
        "oracle://scott:hunter2@host/d",
        "no scheme://scott:hunter2@host/d",
        "//scott:hunter2@host/d",
        "host=host user=scott password=hunter2",
        "Server=host;Uid=scott;Pwd=hunter2;",
    ] {
        for command in [
            &["doc", "get", "a", "b"][..],
            &["validate"],
            &["schema", "print"],
        ] {
            let message = refused(&[&["--store", store], command].concat());
            for secret in ["scott", "hun", "ter2", "host"] {
                assert!(!message.contains(secret), "{message}");
            }
        }
    }
    for command in [
        &["status"][..],
        &["enable"],
        &["bump", "--reason", "r"],
        &["disable"],
        &["export", "--to", "copy.db"],
        &["changes", "--family", "f"],
    ] {
        let db = ["--db", "sqlite://scott:hunter2@host/x.db"];
        let message = refused(&[&["change-contract"], command, &db].concat());
        assert!(message.contains("--db takes the path"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let place = Workplace::new();
    place
        .run(["--store", "sqlite:a@b.db", "schema", "apply"])
        .ok();
    assert!(place.path("a@b.db").exists());
}

#[test]
fn a_missing_store_names_the_next_step() {
    let place = Workplace::new();
    for command in [&["doc", "get", "a", "b"][..], &["claim", "list", "q", "u"]] {
        let message = place.run(command).failed(1);
        assert!(message.contains("changestore.db does not exist; `changestore schema apply`"));
    }
    place.run(["schema", "apply"]).ok();
    let message = place.run(["doc", "get", "a", "b"]).failed(1);
    assert!(message.contains("not found"), "{message}");
}

#[test]
fn what_is_given_is_read_before_a_store_is_created() {
    for arguments in [
        &["validate", "nope"][..],
        &["validate", "."],
        &["doc", "put", "a", "b", "@nope"],
        &["claim", "create", "q", "r", "u", "--metadata", "@nope"],
        &["claim", "annotate", "q", "u", "r", "--metadata", "@nope"],
    ] {
        let place = Workplace::new();
        place.run(arguments).failed(1);
        assert!(!place.path("changestore.db").exists(), "{arguments:?}");
    }
    refused(&["claim", "create", "q", "r", "u", "--metadata", "{"]);
}

#[test]
fn a_number_out_of_range_is_told_its_range() {
    let put = ["doc", "put", "a", "b", "c"];
    let contract = ["change-contract", "changes", "--db", "d", "--family", "f"];
    let from_0 = "expected a whole number from 0 to ";
    for (arguments, option, value, expected) in [
        (&put[..], "--if-version", "-1", from_0),
        (&put, "--if-version", "9223372036854775808", from_0),
        (&put, "--if-version", "one", from_0),
        (
            &["doc", "delete", "a", "b"],
            "--if-version",
            "-1",
            "from 1 to ",
        ),
        (
            &["doc", "delete", "a", "b"],
            "--if-version",
            "0",
            "from 1 to ",
        ),
        (
            &["claim", "annotate", "q", "u", "r", "--metadata", "1"],
            "--if-version",
            "-1",
            from_0,
        ),
        (&["doc", "query", "a"], "--limit", "-1", from_0),
        (&["doc", "query", "a"], "--limit", "1.5", from_0),
        (&contract, "--limit", "-1", "not in 1..="),
        (&contract, "--batch", "-1", "not in 1..="),
        (
            &put,
            "--expire-at",
            "-1",
            "not between 1970 and the end of 9999",
        ),
        (
            &put,
            "--expire-at",
            "tomorrow",
            "such as `2026-01-13T18:17:27Z`",
        ),
        (&put, "--ttl", "-1", "such as `30s`, `1h 30m` or `7d`"),
        (&put, "--ttl", "1", "such as `30s`, `1h 30m` or `7d`"),
        (&put, "--ttl", "-1s", "at least a millisecond"),
        (&put, "--ttl", "1ns", "at least a millisecond"),
        (&put, "--ttl", "9000y", "give days, such as `30d`"),
        (&put, "--ttl", "1mo", "give days, such as `30d`"),
        (
            &["doc", "increment", "a", "b"],
            "--ttl",
            "-7d",
            "at least a millisecond",
        ),
    ] {
        let message = refused(&[arguments, &[option, value]].concat());
        let (first, _) = message.split_once('\n').unwrap();
        let start = format!("error: invalid value '{value}' for '{option} ");
        assert!(
            first.starts_with(&start) && first.contains(expected),
            "{message}"
        );
        assert!(
            !message.contains("-- -") && !message.contains("jiff"),
            "{message}"
        );
    }
    let message = refused(&["doc", "increment", "a", "b", "-9223372036854775809"]);
    assert!(
        message.contains("from -9223372036854775808 to"),
        "{message}"
    );
}

#[test]
fn a_document_may_be_a_negative_number() {
    let place = Workplace::new();
    place.run(["doc", "put", "a", "b", "-5"]).ok();
    assert_eq!(place.run(["doc", "get", "a", "b", "--raw"]).ok(), "-5");
}

#[test]
fn an_expiry_that_is_past_is_legal_and_said() {
    let place = Workplace::new();
    let put = |at: &str| {
        let ran = place.run(["doc", "put", "a", "b", "c", "--expire-at", at]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        ran.stderr
    };
    assert_eq!(
        put("1768328247"),
        "warning: --expire-at 1970-01-21T11:12:08.247Z is past (a number is taken as milliseconds, \
         not seconds): the record counts as absent at once\n"
    );
    assert_eq!(
        put("2020-01-01T00:00:00Z"),
        "warning: --expire-at 2020-01-01T00:00:00Z is past: the record counts as absent at once\n"
    );
    assert_eq!(put("9999-12-30T00:00:00Z"), "");
}

#[test]
fn nothing_found_is_said_to_people() {
    let place = Workplace::new();
    place.run(["schema", "apply"]).ok();
    for (arguments, note) in [
        (&["claim", "list", "q", "u"][..], "no claims\n"),
        (&["doc", "query", "a"], "no records\n"),
    ] {
        let ran = place.run(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
        assert_eq!(ran.stderr, note);
        assert_eq!(place.run([&["--json"], arguments].concat()).ok(), "");
    }
}
