//! The emulator of Bigtable's API from Google's command line tools, without credentials and TLS. It keeps
//! everything in memory: a restart is empty.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::Result;
use crate::folder::Folder;
use crate::install::Install;
use crate::program;
use crate::server::{Engine, Server};
use crate::user::Unprivileged;

/// Where Google's packages are; the emulator is on nobody's `PATH`.
const SDK: &str = "/usr/lib/google-cloud-sdk";

/// The package is Google's, from a repository that a machine may not have yet.
const INSTALL: Install = Install::command(
    "as_root=$(command -v sudo || true) && key=/usr/share/keyrings/cloud.google.asc && \
     $as_root apt-get update -qq && \
     $as_root apt-get install -y --no-install-recommends ca-certificates curl && \
     curl -fsS https://packages.cloud.google.com/apt/doc/apt-key.gpg | $as_root tee $key >/dev/null && \
     echo \"deb [signed-by=$key] https://packages.cloud.google.com/apt cloud-sdk main\" | \
     $as_root tee /etc/apt/sources.list.d/google-cloud-sdk.list && \
     $as_root apt-get update -qq && \
     $as_root apt-get install -y --no-install-recommends google-cloud-cli-bigtable-emulator",
);

/// A machine with much to do is slow, and a port may be somebody else's who never answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// How HTTP/2 begins, and with which settings: the usual ones.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The length of an HTTP/2 frame's head, and where and what the type of settings is.
const FRAME_HEAD: usize = 9;
const TYPE: usize = 3;
const SETTINGS: u8 = 4;

/// Whether it is installed.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) says how it is.
pub fn check() -> Result<()> {
    server_program().map(drop)
}

/// Starts a server without tables. Its URL is an address, `127.0.0.1:PORT`, and it takes any project and instance.
///
/// # Errors
/// [`Error::Missing`](crate::Error::Missing) if it is not installed.
pub fn start() -> Result<Server> {
    let engine = Emulator {
        server: server_program()?,
    };
    Server::start(
        engine,
        Folder::new("bigtable", Unprivileged::nobody_else())?,
    )
}

struct Emulator {
    server: PathBuf,
}

impl Engine for Emulator {
    fn name(&self) -> &'static str {
        "Bigtable emulator"
    }

    fn command(&self, _folder: &Folder, port: u16) -> Result<Command> {
        let mut command = Command::new(&self.server);
        command.args(["-host", "127.0.0.1", "-port", &port.to_string()]);
        Ok(command)
    }

    fn url(&self, port: u16) -> String {
        format!("127.0.0.1:{port}")
    }

    /// It has no version of its own: that of the tools it came with.
    fn version(&self, port: u16) -> Result<Result<String, String>> {
        Ok(greet(port).map(|()| {
            let tools = fs::read_to_string(Path::new(SDK).join("VERSION"));
            tools.map_or_else(
                |_| "of no known version".to_owned(),
                |version| version.trim().to_owned(),
            )
        }))
    }
}

/// Greets it in HTTP/2, which gRPC is spoken in, and is greeted.
fn greet(port: u16) -> Result<(), String> {
    let greeted = || -> std::io::Result<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        stream.write_all(PREFACE)?;
        let mut head = [0; FRAME_HEAD];
        stream.read_exact(&mut head)?;
        Ok(head[TYPE])
    };
    match greeted() {
        Ok(SETTINGS) => Ok(()),
        Ok(_) => Err("another answer than HTTP/2's".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn server_program() -> Result<PathBuf> {
    let folder = Path::new(SDK).join("platform/bigtable-emulator");
    program::find(&["cbtemulator"], &[folder], INSTALL)
}
