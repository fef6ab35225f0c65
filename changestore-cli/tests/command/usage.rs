//! Wrong usage exits with 2 and touches nothing; help and completions.

use super::*;

#[test]
fn wrong_usage_exits_with_2_and_creates_nothing() {
    let long = "x".repeat(256);
    let calls: &[&[&str]] = &[
        &[],
        &["--nonsense"],
        &["frobnicate"],
        &["--store", "oracle://h/d", "doc", "get", "a", "b"],
        &["--store", "", "doc", "get", "a", "b"],
        &["--store", "mem:x", "doc", "get", "a", "b"],
        &["--store", "sqlite:x.db?jornal=wal", "doc", "get", "a", "b"],
        &["doc", "get", "", "b"],
        &["doc", "put", "a", "b"],
        &[
            "doc",
            "put",
            "a",
            "b",
            "c",
            "--if-absent",
            "--if-version",
            "1",
        ],
        &[
            "doc",
            "put",
            "a",
            "b",
            "c",
            "--ttl",
            "30s",
            "--expire-at",
            "1",
        ],
        &["doc", "put", "a", "b", "c", "--ttl", "soon"],
        &["doc", "put", "a", "b", "c", "--if-version", "-1"],
        &["doc", "delete", "a", "b", "--if-version", "0"],
        &["doc", "get", "a", "b", "--raw", "--json"],
        &["doc", "increment", "a", "b", "9223372036854775808"],
        &["claim", "create", "q", "r"],
        &["claim", "create", &long, "r", "u"],
        &["claim", "list", "q", ""],
        &["completions", "cobol"],
    ];
    for arguments in calls {
        let place = Workplace::new();
        let ran = place.run(*arguments);
        assert_eq!(ran.status, Some(2), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        assert_ne!(ran.stderr, "", "{arguments:?}");
        let created = fs::read_dir(place.folder.path()).unwrap().count();
        assert_eq!(created, 0, "{arguments:?}");
    }
}

#[test]
fn a_secret_in_a_url_is_not_repeated() {
    let place = Workplace::new();
    let message = place
        .run(["--store", "oracle://scott:tiger@h", "schema", "print"])
        .failed(2);
    assert!(
        message.contains("no store `oracle:`; it has sqlite:, postgres:, mysql:,"),
        "{message}"
    );
    assert!(!message.contains("tiger"), "{message}");
    let mut command = place.command(["schema", "print"]);
    command.env("CHANGESTORE_STORE", "oracle://scott:tiger@h");
    let message = Ran::new(command.output().unwrap()).failed(2);
    assert!(!message.contains("tiger"), "{message}");
}

#[test]
fn the_store_comes_from_the_flag_then_from_the_environment() {
    let place = Workplace::new();
    let put = |store: Option<&str>, flags: &[&str]| {
        let mut command = place.command(["doc", "put", "a", "b", "c", "--if-absent"]);
        command
            .args(flags)
            .envs(store.map(|store| ("CHANGESTORE_STORE", store)));
        Ran::new(command.output().unwrap()).ok()
    };
    put(Some("env.db"), &[]);
    put(Some("env.db"), &["--store", "flag.db"]);
    put(None, &[]);
    for name in ["env.db", "flag.db", "changestore.db"] {
        assert!(place.path(name).exists(), "{name}");
    }
}

#[test]
fn help_shows_every_command_and_the_exit_statuses() {
    let place = Workplace::new();
    let help = place.run(["--help"]).ok();
    for word in [
        "validate",
        "claim",
        "doc",
        "schema",
        "change-contract",
        "completions",
        "Exit status",
        "CHANGESTORE_STORE",
    ] {
        assert!(help.contains(word), "{word}");
    }
    let help = place.run(["validate", "--help"]).ok();
    assert!(
        help.contains(r#"{"event":"finish","queue":"main""#),
        "{help}"
    );
    assert!(place.run(["--version"]).ok().starts_with("changestore "));
}

#[test]
fn completions_for_each_shell() {
    let place = Workplace::new();
    for (shell, sign) in [
        ("bash", "complete -F _changestore"),
        ("zsh", "#compdef changestore"),
        ("fish", "complete -c changestore"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let script = place.run(["completions", shell]).ok();
        assert!(
            script.contains(sign) && script.contains("keep-going"),
            "{shell}"
        );
    }
}

#[test]
fn the_schema_can_be_printed_and_applied() {
    let place = Workplace::new();
    let sql = place.run(["schema", "print"]).ok();
    assert!(sql.contains("CREATE TABLE changestore_claims"), "{sql}");
    assert!(!place.path("changestore.db").exists());
    let step = json(
        place
            .run(["schema", "print", "--json"])
            .ok()
            .lines()
            .next()
            .unwrap(),
    );
    assert_eq!(step["version"], 1);
    assert!(
        step["sql"]
            .as_str()
            .unwrap()
            .contains("CREATE TABLE changestore_claims")
    );

    assert_eq!(
        place.run(["schema", "apply"]).ok(),
        "sqlite: schema version 1\n"
    );
    assert_eq!(place.run(["doc", "query", "a", "--json"]).ok(), "");
    assert_eq!(
        place.run(["schema", "apply", "--json"]).ok(),
        "{\"version\":1}\n"
    );
    let none = place.run(["--store", "mem:", "schema", "print"]).ok();
    assert_eq!(none, "-- mem: needs no schema\n");
}

#[test]
fn a_store_that_cannot_be_opened_is_a_failure() {
    let place = Workplace::new();
    place.write("text.db", "this is no database, but a text of some length");
    let message = place
        .run(["--store", "text.db", "doc", "put", "a", "b", "c"])
        .failed(1);
    assert!(message.starts_with("error: sqlite: open: "), "{message}");
    let message = place.run(["--store", "no/where.db", "validate"]).failed(1);
    assert!(message.contains("does not exist"), "{message}");
    let message = place.run(["doc", "get", "a", "b"]).failed(1);
    assert!(
        message.contains("changestore.db does not exist"),
        "{message}"
    );
    assert!(!place.path("changestore.db").exists());
}
