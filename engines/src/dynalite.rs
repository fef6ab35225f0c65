//! dynalite: DynamoDB's API in JavaScript. It does not return the item on which a condition failed, and has no
//! TTL.

use std::path::PathBuf;
use std::process::Command;

use crate::dynamodb;
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::install::Install;
use crate::program;
use crate::server::{Engine, Server};
use crate::user::Unprivileged;

const NAME: &str = "dynalite";
const VERSION: &str = "4.0.0";
const LIBRARY: &str = "dynalite/node_modules/dynalite";

/// What its own command does, but for two things. A case has a table of its own, and need not wait half a
/// second for it. And a connection that is idle is kept: Node.js closes it after five seconds, which on a busy
/// machine crosses with the next request, and nobody knows then what became of that.
const SERVER: &str = r"
    const [library, port] = process.argv.slice(1);
    const server = require(library)({ createTableMs: 10, deleteTableMs: 10 });
    server.keepAliveTimeout = 0;
    server.on('error', error => { console.error(error.message); process.exit(1); });
    server.listen(Number(port), '127.0.0.1');
    // It ends where a client breaks off in the middle of a request; no server should.
    process.on('uncaughtException', error => {
        console.error(error);
        if (error.code !== 'ECONNRESET') process.exit(1);
    });
";

const NODE: Install = Install::packages(&["nodejs"]);
const NPM: Install = Install::packages(&["npm"]);
const INSTALL: Install = Install::command(concat!(
    "npm install --no-audit --no-fund --prefix '",
    env!("CARGO_MANIFEST_DIR"),
    "/../target/engines/dynalite' dynalite@4.0.0"
));

/// What is missing on this machine, one after the other; nothing if a server can be started.
///
/// # Errors
/// [`Error::Missing`] says what is, and how it is installed.
pub fn check() -> Result<()> {
    node()?;
    library().map(drop)
}

/// Starts a server without tables.
///
/// # Errors
/// [`Error::Missing`] if it is not installed.
pub fn start() -> Result<Server> {
    let engine = Dynalite {
        node: node()?,
        library: library()?,
    };
    Server::start(engine, Folder::new(NAME, Unprivileged::nobody_else())?)
}

struct Dynalite {
    node: PathBuf,
    library: PathBuf,
}

impl Engine for Dynalite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn command(&self, _folder: &Folder, port: u16) -> Result<Command> {
        let mut command = Command::new(&self.node);
        command.args(["--eval", SERVER, "--"]).arg(&self.library);
        command.arg(port.to_string());
        Ok(command)
    }

    fn url(&self, port: u16) -> String {
        dynamodb::url(port)
    }

    /// It does not say its version; what is installed is pinned.
    fn version(&self, port: u16) -> Result<Result<String, String>> {
        Ok(dynamodb::health(port).map(|_| VERSION.to_owned()))
    }
}

fn node() -> Result<PathBuf> {
    program::find(&["node", "nodejs"], &[], NODE)
}

fn library() -> Result<PathBuf> {
    let library = dynamodb::installed(LIBRARY);
    if library.join("package.json").is_file() {
        return Ok(library);
    }
    program::find(&["npm"], &[], NPM)?;
    Err(Error::Missing {
        what: format!("{NAME} {VERSION}"),
        install: INSTALL,
    })
}
