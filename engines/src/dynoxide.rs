//! dynoxide: DynamoDB's API on SQLite, in Rust. It returns the item on which a condition failed.

use std::path::PathBuf;
use std::process::Command;

use crate::dynamodb;
use crate::error::Result;
use crate::folder::Folder;
use crate::install::Install;
use crate::program;
use crate::server::{Engine, Server};
use crate::user::Unprivileged;

const NAME: &str = "dynoxide";
const INSTALL: Install = Install::command(concat!(
    "cargo install dynoxide-rs --version 3.2.0 --locked --no-default-features \
     --features native-sqlite,http-server,cli --root '",
    env!("CARGO_MANIFEST_DIR"),
    "/../target/engines'"
));

/// Whether it is installed.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) says how it is.
pub fn check() -> Result<()> {
    server_program().map(drop)
}

/// Starts a server without tables.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) if it is not installed.
pub fn start() -> Result<Server> {
    let engine = Dynoxide {
        server: server_program()?,
    };
    Server::start(engine, Folder::new(NAME, Unprivileged::nobody_else())?)
}

struct Dynoxide {
    server: PathBuf,
}

impl Engine for Dynoxide {
    fn name(&self) -> &'static str {
        NAME
    }

    fn command(&self, _folder: &Folder, port: u16) -> Result<Command> {
        let mut command = Command::new(&self.server);
        command.args(["serve", "--host", "127.0.0.1", "--port", &port.to_string()]);
        Ok(command)
    }

    fn url(&self, port: u16) -> String {
        dynamodb::url(port)
    }

    fn version(&self, port: u16) -> Result<Result<String, String>> {
        Ok(dynamodb::health(port).and_then(|answer| {
            let mut headers = answer.lines().filter_map(|line| line.split_once(':'));
            headers
                .find(|(name, _)| name.eq_ignore_ascii_case("x-dynoxide-version"))
                .map(|(_, version)| version.trim().to_owned())
                .ok_or_else(|| "it is not dynoxide that answers".to_owned())
        }))
    }
}

fn server_program() -> Result<PathBuf> {
    program::find(&["dynoxide"], &[dynamodb::installed("bin")], INSTALL)
}
