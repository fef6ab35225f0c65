//! PostgreSQL, as a careful administrator sets it up: a locale that sorts like people do, durable writes.

use std::path::PathBuf;
use std::process::Command;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::Install;
use crate::program;
use crate::server::{Engine, Server};
use crate::user::Unprivileged;

const NAME: &str = "PostgreSQL";
pub(crate) const USER: &str = "changestore";
pub(crate) const DATABASE: &str = "postgres";

/// A locale under which texts sort otherwise than by their bytes.
const LOCALE: &str = "en_US.UTF-8";

const PROGRAMS: Install = Install::packages(&["postgresql"]);
const LOCALES: Install =
    Install::packages(&["locales"]).then("localedef -i en_US -f UTF-8 en_US.UTF-8");

/// What is missing on this machine, one after the other; nothing if a server can be started.
///
/// # Errors
/// [`Error::Missing`] says what is, and how it is installed.
pub fn check() -> Result<()> {
    program_named("initdb")?;
    program_named("postgres")?;
    program_named("psql")?;
    check_locale()
}

/// Starts a server: default locale en_US.UTF-8, fsync on, its user a superuser.
///
/// # Errors
/// [`Error::Missing`] if the machine lacks something.
pub fn start() -> Result<Server> {
    start_with(&[])
}

/// Starts a server with some settings of `postgresql.conf` different, such as
/// `("default_transaction_isolation", "serializable")`.
///
/// # Errors
/// As for [`start`].
pub fn start_with(settings: &[(&str, &str)]) -> Result<Server> {
    check()?;
    let folder = Folder::new(NAME, Unprivileged::find(&["postgres"])?)?;
    let password = Uuid::new_v4().simple().to_string();
    let password_file = folder.write("password", &password)?;
    let mut initdb = Command::new(program_named("initdb")?);
    initdb
        .arg("--pgdata")
        .arg(folder.join("data"))
        .arg("--pwfile")
        .arg(password_file)
        .args(["--username", USER, "--auth", "scram-sha-256"])
        .args(["--locale", LOCALE, "--encoding", "UTF8"])
        // Durable from the first query on is early enough.
        .arg("--no-sync");
    folder.run(NAME, &initdb)?;
    let settings = [
        ("fsync", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        // Cases run side by side, on as many threads as the machine has.
        ("max_connections", "400"),
    ]
    .iter()
    .chain(settings)
    .map(|(name, value)| format!("{name}={value}"))
    .collect();
    let engine = Postgres {
        server: program_named("postgres")?,
        client: Client::new(password)?,
        settings,
    };
    Server::start(engine, folder)
}

struct Postgres {
    server: PathBuf,
    client: Client,
    settings: Vec<String>,
}

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn command(&self, folder: &Folder, port: u16) -> Result<Command> {
        let mut command = Command::new(&self.server);
        command.arg("-D").arg(folder.join("data"));
        command.args(["-p", &port.to_string()]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        Ok(command)
    }

    /// The fast shutdown: SIGTERM would wait for the clients.
    fn stop_signal(&self) -> &'static str {
        "INT"
    }

    fn url(&self, port: u16) -> String {
        self.client.url(port)
    }

    fn version(&self, port: u16) -> Result<Result<String, String>> {
        self.client.version(port)
    }
}

/// What speaks to a server like a client: `psql`.
pub(crate) struct Client {
    psql: PathBuf,
    password: String,
}

impl Client {
    pub(crate) fn new(password: String) -> Result<Self> {
        let psql = program_named("psql")?;
        Ok(Self { psql, password })
    }

    pub(crate) fn url(&self, port: u16) -> String {
        let password = &self.password;
        format!("postgres://{USER}:{password}@127.0.0.1:{port}/{DATABASE}")
    }

    /// The server's version without its build, such as `15.14`.
    pub(crate) fn version(&self, port: u16) -> Result<Result<String, String>> {
        let mut psql = Command::new(&self.psql);
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only"])
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--username", USER, "--dbname", DATABASE])
            .args(["--command", "SELECT current_setting('server_version')"])
            .env("PGPASSWORD", &self.password)
            .env("PGCONNECT_TIMEOUT", "10");
        let answer = program::ask(&mut psql)?;
        Ok(answer.map(|version| version.split(' ').next().unwrap_or_default().to_owned()))
    }
}

/// One of PostgreSQL's programs, which Debian puts into a folder per version.
pub(crate) fn program_named(name: &str) -> Result<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(Ok(folder)) = program::ask(Command::new("pg_config").arg("--bindir")) {
        folders.push(PathBuf::from(folder));
    }
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    folders.extend(versions.into_iter().rev().map(|(_, folder)| folder));
    // All programs of one version: `pg_config` may stand there without a server.
    folders.retain(|folder| folder.join("initdb").is_file());
    folders.truncate(1);
    program::find(&[name], &folders, PROGRAMS)
}

fn check_locale() -> Result<()> {
    let same = |locale: &str| {
        locale
            .to_lowercase()
            .replace("utf-8", "utf8")
            .eq("en_us.utf8")
    };
    let known = program::ask(Command::new("locale").arg("-a"))?.unwrap_or_default();
    if known.lines().any(same) {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!("the locale {LOCALE}"),
        install: LOCALES,
    })
}

/// For PgBouncer, which asks PostgreSQL for nothing but a port and what [`Client`] knows.
pub(crate) fn password_of(url: &str) -> Option<&str> {
    let (_, behind) = url.split_once("://")?;
    let (user, _) = behind.split_once('@')?;
    Some(user.split_once(':')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_between_the_user_and_the_host() {
        assert_eq!(password_of("postgres://u:p@h:1/d"), Some("p"));
        assert_eq!(password_of("postgres://h/d"), None);
    }
}
