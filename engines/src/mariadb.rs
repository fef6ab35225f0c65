//! MariaDB, as it comes or as somebody has set it up who thought of everything but us.

use std::path::PathBuf;
use std::process::Command;

use uuid::Uuid;

use crate::error::Result;
use crate::folder::Folder;
use crate::install::Install;
use crate::program;
use crate::server::{Engine, Server};
use crate::user::Unprivileged;

const NAME: &str = "MariaDB";
const USER: &str = "changestore";
const DATABASE: &str = "changestore";
const PROGRAMS: Install = Install::packages(&["mariadb-server"]);

/// A server whose defaults change what statements mean: other quotes and escapes, values coerced with a
/// warning, empty strings that are NULL, transactions that nobody began.
pub const HOSTILE: &[(&str, &str)] = &[
    (
        "sql_mode",
        "ANSI_QUOTES,EMPTY_STRING_IS_NULL,HIGH_NOT_PRECEDENCE,IGNORE_SPACE,NO_AUTO_VALUE_ON_ZERO,\
         NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,\
         REAL_AS_FLOAT,TIME_ROUND_FRACTIONAL",
    ),
    ("autocommit", "0"),
    ("default_time_zone", "-11:00"),
    ("transaction_isolation", "SERIALIZABLE"),
];

/// What is missing on this machine, one after the other; nothing if a server can be started.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) says what is, and how it is installed.
pub fn check() -> Result<()> {
    server_program()?;
    install_program()?;
    client_program().map(drop)
}

/// Starts a server with its own defaults; its user may do everything.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) if the machine lacks something.
pub fn start() -> Result<Server> {
    start_with(&[])
}

/// Starts a server with some options of its configuration different, such as those of [`HOSTILE`].
///
/// # Errors
/// As for [`start`].
pub fn start_with(options: &[(&str, &str)]) -> Result<Server> {
    check()?;
    let folder = Folder::new(NAME, Unprivileged::find(&["mysql"])?)?;
    let password = Uuid::new_v4().simple().to_string();
    let mut install = Command::new(install_program()?);
    install
        .args(["--no-defaults", "--skip-test-db"])
        .arg("--auth-root-authentication-method=normal")
        .arg(option("datadir", folder.join("data").display()))
        .arg(option("tmpdir", folder.path().display()));
    folder.run(NAME, &install)?;
    // Runs at every start, before anybody can connect.
    folder.write(
        "init.sql",
        &format!(
            "ALTER USER root@localhost IDENTIFIED BY '{password}';\n\
             CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{password}';\n\
             GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\n\
             CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
        ),
    )?;
    let options = options.iter().map(|(name, value)| option(name, value));
    let engine = MariaDb {
        server: server_program()?,
        client: client_program()?,
        password,
        options: options.collect(),
    };
    Server::start(engine, folder)
}

struct MariaDb {
    server: PathBuf,
    client: PathBuf,
    password: String,
    options: Vec<String>,
}

impl Engine for MariaDb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn command(&self, folder: &Folder, port: u16) -> Result<Command> {
        let file = |name: &str, file: &str| option(name, folder.join(file).display());
        let mut command = Command::new(&self.server);
        command
            .arg("--no-defaults")
            .arg(file("datadir", "data"))
            .arg(file("socket", "socket"))
            .arg(file("pid_file", "pid"))
            .arg(file("init_file", "init.sql"))
            .arg(option("tmpdir", folder.path().display()))
            .args([
                option("bind_address", "127.0.0.1"),
                option("port", port),
                // Cases run side by side, on as many threads as the machine has.
                option("max_connections", 400),
            ])
            // A client from 127.0.0.1 is not to become the anonymous user of localhost.
            .arg("--skip-name-resolve")
            .args(&self.options);
        Ok(command)
    }

    fn url(&self, port: u16) -> String {
        let password = &self.password;
        format!("mysql://{USER}:{password}@127.0.0.1:{port}/{DATABASE}")
    }

    fn version(&self, port: u16) -> Result<Result<String, String>> {
        let mut client = Command::new(&self.client);
        client
            .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"])
            .arg(option("port", port))
            .arg(option("user", USER))
            .args(["--connect-timeout=10", "--batch", "--skip-column-names"])
            .args(["--execute", "SELECT VERSION()", DATABASE])
            .env("MYSQL_PWD", &self.password);
        let answer = program::ask(&mut client)?;
        Ok(answer.map(|version| version.split('-').next().unwrap_or_default().to_owned()))
    }
}

fn option(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

fn server_program() -> Result<PathBuf> {
    program::find(&["mariadbd"], &[], PROGRAMS)
}

fn install_program() -> Result<PathBuf> {
    program::find(&["mariadb-install-db"], &[], PROGRAMS)
}

fn client_program() -> Result<PathBuf> {
    program::find(&["mariadb"], &[], PROGRAMS)
}
