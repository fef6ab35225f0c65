//! PgBouncer in transaction mode, in front of a PostgreSQL: one server connection serves many clients, a
//! transaction each.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Result;
use crate::folder::Folder;
use crate::install::Install;
use crate::postgres::{Client, DATABASE, USER, password_of};
use crate::program;
use crate::server::{Engine, Server};
use crate::user::Unprivileged;

const NAME: &str = "PgBouncer";
const PROGRAMS: Install = Install::packages(&["pgbouncer"]);

/// What is missing on this machine; nothing if a PgBouncer can be started.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) says what is, and how it is installed.
pub fn check() -> Result<()> {
    server_program().map(drop)
}

/// Starts one in front of a server of [`postgres`](crate::postgres), with so many connections to it.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) if the machine lacks something.
pub fn start(postgres: &Server, connections: usize) -> Result<Server> {
    let server = server_program()?;
    let folder = Folder::new(NAME, Unprivileged::find(&["postgres"])?)?;
    let url = postgres.url();
    let password = password_of(&url).unwrap_or_default().to_owned();
    folder.write("users", &format!("\"{USER}\" \"{password}\"\n"))?;
    let version = program::ask(Command::new(&server).arg("--version"))?.unwrap_or_default();
    let engine = PgBouncer {
        // As in `PgBouncer 1.18.0`, with further lines about what it was built with.
        version: version
            .split_whitespace()
            .nth(1)
            .unwrap_or_default()
            .to_owned(),
        server,
        client: Client::new(password)?,
        postgres: postgres.port(),
        connections,
    };
    Server::start(engine, folder)
}

struct PgBouncer {
    server: PathBuf,
    version: String,
    client: Client,
    postgres: u16,
    connections: usize,
}

impl Engine for PgBouncer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn command(&self, folder: &Folder, port: u16) -> Result<Command> {
        let settings = format!(
            "[databases]\n\
             {DATABASE} = host=127.0.0.1 port={postgres}\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\n\
             listen_port = {port}\n\
             unix_socket_dir =\n\
             auth_type = scram-sha-256\n\
             auth_file = {users}\n\
             pool_mode = transaction\n\
             default_pool_size = {connections}\n\
             max_client_conn = 400\n",
            postgres = self.postgres,
            users = folder.join("users").display(),
            connections = self.connections,
        );
        let mut command = Command::new(&self.server);
        command.arg(folder.write("pgbouncer.ini", &settings)?);
        Ok(command)
    }

    fn url(&self, port: u16) -> String {
        self.client.url(port)
    }

    /// The query is answered by PostgreSQL; the version is not its.
    fn version(&self, port: u16) -> Result<Result<String, String>> {
        let answer = self.client.version(port)?;
        Ok(answer.map(|_| self.version.clone()))
    }
}

fn server_program() -> Result<PathBuf> {
    program::find(&["pgbouncer"], &[], PROGRAMS)
}
