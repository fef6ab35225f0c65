//! Stores in Bigtable. Those that need a server are ignored; `cargo xtask ci` runs them.

use super::*;

const URL: &str = "CHANGESTORE_BIGTABLE_URL";

/// The store of a table on the tests' server. It stays there, for as long as the emulator runs.
fn on_server(table: &str) -> String {
    let address =
        std::env::var(URL).unwrap_or_else(|_| panic!("{URL} is not set; run cargo xtask ci"));
    let process = std::process::id();
    format!("bigtable://project/instance/{table}_{process}?emulator={address}")
}

/// The command with this store, and nobody's credentials.
fn run(store: &str, arguments: &[&str]) -> Ran {
    let place = Workplace::new();
    let mut command = place.command(arguments);
    command
        .env("CHANGESTORE_STORE", store)
        .env("GOOGLE_APPLICATION_CREDENTIALS", "no-such-file.json")
        .env_remove("BIGTABLE_EMULATOR_HOST");
    Ran::new(command.output().unwrap())
}

#[test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
fn bigtable_validates_the_sample() {
    let store = on_server("validate");
    let file = sample();
    let file = file.to_str().unwrap();
    let message = run(&store, &["validate", file]).failed(1);
    assert!(message.contains("there is no such table"), "{message}");
    for _ in 0..2 {
        let applied = run(&store, &["schema", "apply"]).ok();
        assert_eq!(applied, "bigtable: schema version 1\n");
    }
    let answers = run(&store, &["--json", "validate", file]).ok();
    let place = Workplace::new();
    let expected = place
        .run(["--json", "--store", "mem:", "validate", file])
        .ok();
    assert_eq!(answers, expected);
    let again = run(&store, &["validate", file]);
    assert_eq!(
        again.last_line(),
        "424 requests: 359 claimed, 65 duplicates; 424 finished; 0 errors \
         (848 events redelivered, nothing changed)"
    );
}

#[test]
fn what_is_missing_is_said_in_words() {
    for (store, words) in [
        (
            "bigtable://p/i/t?emulator=127.0.0.1:1",
            "unavailable: the server cannot be reached",
        ),
        ("bigtable://p/i/t", "application default credentials"),
    ] {
        let message = run(store, &["doc", "get", "a", "b"]).failed(1);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn the_table_can_be_printed_without_a_server() {
    let printed = run("bigtable://p/i/t", &["schema", "print"]).ok();
    assert!(printed.contains("cbt createtable"), "{printed}");
}
