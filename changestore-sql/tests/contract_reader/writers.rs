//! Others who write to the archive: through a connection of their own, through ATTACH, with the shell.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;

/// A statement that breaks a constraint is undone alone.
pub(crate) fn run(connection: &Connection, statements: &[String]) {
    for sql in statements {
        match connection.execute_batch(sql) {
            Ok(()) => {}
            Err(error) => assert_eq!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::ConstraintViolation),
                "{error}: {sql}",
            ),
        }
    }
}

pub(crate) fn attached(path: &Path, statements: &[String]) {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute("ATTACH ?1 AS archive", [path.to_str().unwrap()])
        .unwrap();
    run(&connection, statements);
}

/// The shell goes on after an error, as it does by hand.
pub(crate) fn shell(path: &Path, statements: &[String]) {
    let mut shell = Command::new("sqlite3")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("sqlite3, the shell, is one of the writers: it must be installed");
    let script = statements.join(";\n") + ";\n";
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    shell.wait().unwrap();
}
