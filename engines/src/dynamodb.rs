//! What the servers of DynamoDB's API have in common: no credentials, an endpoint, a health check. Both keep
//! everything in memory: a restart is empty.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

/// Where programs are installed that no package has: in the workspace's target folder.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/engines");

/// A machine with much to do is slow, and a port may be somebody else's who never answers.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

pub(crate) fn installed(path: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(path)
}

pub(crate) fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// Asks for the server's health: what it answers, head and all, or else what is wrong.
pub(crate) fn health(port: u16) -> Result<String, String> {
    ask(port).map_err(|error| error.to_string())
}

fn ask(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.contains("healthy: dynamodb") {
        return Ok(answer);
    }
    Err(std::io::Error::other("another answer than DynamoDB's"))
}
