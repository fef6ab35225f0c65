//! Stores on database servers. Those that need one are ignored; `cargo xtask ci` runs them.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use super::*;

const SECRET: &str = "hunter2";

/// Tables of its own on a server, gone when it is dropped.
struct OnServer {
    /// What the server is reached by.
    server: String,
    /// The value of `--store`.
    store: String,
    prefix: String,
}

impl OnServer {
    fn at(variable: &str) -> Self {
        static TESTS: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set; run cargo xtask ci"));
        let test = TESTS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("cli_{}_{test}_", std::process::id());
        let separator = if server.contains('?') { '&' } else { '?' };
        let store = format!("{server}{separator}table_prefix={prefix}");
        Self {
            server,
            store,
            prefix,
        }
    }

    /// The command with this store, which it finds in its environment as a password should be given.
    fn run(&self, arguments: &[&str]) -> Ran {
        let place = Workplace::new();
        let mut command = place.command(arguments);
        let ran = Ran::new(
            command
                .env("CHANGESTORE_STORE", &self.store)
                .output()
                .unwrap(),
        );
        let created = fs::read_dir(place.folder.path()).unwrap().count();
        assert_eq!(created, 0);
        ran
    }

    /// The same store with this for the password.
    fn with_password(&self, password: &str) -> String {
        let (before, host) = self.store.split_once('@').unwrap();
        let (before, _) = before.rsplit_once(':').unwrap();
        format!("{before}:{password}@{host}")
    }
}

impl Drop for OnServer {
    fn drop(&mut self) {
        let tables =
            ["claims", "documents", "migrations"].map(|table| format!("{}{table}", self.prefix));
        let drop = AssertSqlSafe(format!("DROP TABLE IF EXISTS {}", tables.join(", ")));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            if self.server.starts_with("postgres") {
                let mut server = PgConnection::connect(&self.server).await.unwrap();
                server.execute(sqlx::raw_sql(drop)).await.unwrap();
            } else {
                let mut server = MySqlConnection::connect(&self.server).await.unwrap();
                server.execute(sqlx::raw_sql(drop)).await.unwrap();
            }
        });
    }
}

/// The events of the sample, with the same answers as from every other store, twice.
fn validates_the_sample(server: &OnServer) {
    let file = sample();
    let file = file.to_str().unwrap();
    let message = server.run(&["validate", file]).failed(1);
    assert!(message.contains("`changestore schema apply`"), "{message}");

    let name = if server.server.starts_with("postgres") {
        "postgres"
    } else {
        "mysql"
    };
    for _ in 0..2 {
        let applied = server.run(&["schema", "apply"]).ok();
        assert_eq!(applied, format!("{name}: schema version 1\n"));
    }
    let answers = server.run(&["--json", "validate", file]).ok();
    let place = Workplace::new();
    let expected = place
        .run(["--json", "--store", "mem:", "validate", file])
        .ok();
    assert_eq!(answers, expected);
    let again = server.run(&["validate", file]);
    assert_eq!(
        again.last_line(),
        "424 requests: 359 claimed, 65 duplicates; 424 finished; 0 errors \
         (848 events redelivered, nothing changed)"
    );
    server.run(&["doc", "put", "a", "b", "words"]).ok();
    assert_eq!(server.run(&["doc", "get", "a", "b", "--raw"]).ok(), "words");
}

fn repeats_no_wrong_password(server: &OnServer) {
    let place = Workplace::new();
    let store = server.with_password(SECRET);
    for arguments in [
        &["validate", "-"][..],
        &["schema", "apply"],
        &["doc", "get", "a", "b"],
    ] {
        let message = place
            .run([&["--store", store.as_str()], arguments].concat())
            .failed(1);
        assert!(message.contains("permission denied"), "{message}");
        assert!(!message.contains(SECRET), "{message}");
    }
}

#[test]
#[ignore = "needs CHANGESTORE_POSTGRES_URL; run cargo xtask ci"]
fn postgres_validates_the_sample() {
    validates_the_sample(&OnServer::at("CHANGESTORE_POSTGRES_URL"));
}

#[test]
#[ignore = "needs CHANGESTORE_MYSQL_URL; run cargo xtask ci"]
fn mysql_validates_the_sample() {
    validates_the_sample(&OnServer::at("CHANGESTORE_MYSQL_URL"));
}

#[test]
#[ignore = "needs CHANGESTORE_POSTGRES_URL; run cargo xtask ci"]
fn postgres_repeats_no_wrong_password() {
    repeats_no_wrong_password(&OnServer::at("CHANGESTORE_POSTGRES_URL"));
}

#[test]
#[ignore = "needs CHANGESTORE_MYSQL_URL; run cargo xtask ci"]
fn mysql_repeats_no_wrong_password() {
    repeats_no_wrong_password(&OnServer::at("CHANGESTORE_MYSQL_URL"));
}

#[test]
fn an_unreachable_server_is_a_failure_that_repeats_no_password() {
    let place = Workplace::new();
    // Nobody listens on port 1.
    for scheme in ["postgres", "mysql"] {
        let store = format!("{scheme}://scott:{SECRET}@127.0.0.1:1/d");
        let message = place.run(["--store", &store, "validate"]).failed(1);
        assert!(
            message.starts_with(&format!("error: {scheme}: open: ")),
            "{message}"
        );
        assert!(!message.contains(SECRET), "{message}");
    }
}

#[test]
fn the_schema_can_be_printed_without_a_server() {
    let place = Workplace::new();
    for (store, words) in [
        ("postgresql://h/d", r#"text COLLATE "C""#),
        ("mariadb://h/d", "VARBINARY"),
    ] {
        let sql = place.run(["--store", store, "schema", "print"]).ok();
        assert!(sql.contains(words), "{sql}");
    }
}

#[test]
fn help_does_not_show_the_store_of_the_environment() {
    let place = Workplace::new();
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["doc", "get", "--help"],
        &["--nonsense"],
    ] {
        let mut command = place.command(arguments);
        command.env(
            "CHANGESTORE_STORE",
            format!("postgres://scott:{SECRET}@h/d"),
        );
        let ran = Ran::new(command.output().unwrap());
        assert!(!format!("{ran:?}").contains(SECRET), "{ran:?}");
    }
}
