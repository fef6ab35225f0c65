//! Servers in Docker: through `engines-docker`, which is built only where a Docker engine answers.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::process::cargo;

/// The crate that does it.
pub(crate) const MANIFEST: &str = "engines/docker/Cargo.toml";

/// Where Docker listens unless `DOCKER_HOST` says otherwise.
const SOCKET: &str = "unix:///var/run/docker.sock";

/// Somebody else's program may listen there, and never answer.
const PING_WITHIN: Duration = Duration::from_secs(5);

/// A container, removed when this is dropped or this process ends.
#[derive(Debug)]
pub(super) struct Container(Child);

impl Drop for Container {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The container is removed by then; nobody is there to be told if not.
        let _ = self.0.wait();
    }
}

/// Whether a Docker engine answers.
pub(super) fn answers() -> bool {
    let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| SOCKET.to_owned());
    let answer = match host.split_once("://") {
        Some(("unix", path)) => UnixStream::connect(path).and_then(|stream| {
            stream.set_read_timeout(Some(PING_WITHIN))?;
            ping(stream)
        }),
        Some((_, address)) => TcpStream::connect(address).and_then(|stream| {
            stream.set_read_timeout(Some(PING_WITHIN))?;
            ping(stream)
        }),
        None => return false,
    };
    answer.is_ok_and(|status| status.contains(" 200 "))
}

/// The first line of the answer to the engine API's ping.
fn ping(mut stream: impl Read + Write) -> std::io::Result<String> {
    stream.write_all(b"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n")?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status)?;
    Ok(status)
}

/// Starts a container of that image, and says its URL.
pub(super) fn start(image: &str) -> Result<(String, Container)> {
    let mut command = cargo(["run", "--quiet", "--locked", "--target-dir", "target"]);
    let mut child = command
        .args(["--manifest-path", MANIFEST, "--", image])
        // Of nobody's terminal: Ctrl-C ends this, and that makes it remove the container.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run engines-docker")?;
    let output = child.stdout.take().context("no output")?;
    let container = Container(child);
    let mut url = String::new();
    BufReader::new(output).read_line(&mut url)?;
    ensure!(!url.is_empty(), "no container; what is above says why");
    Ok((url.trim().to_owned(), container))
}
