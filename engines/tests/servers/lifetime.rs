//! When a server ends.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use engines::Server;
use tempfile::TempDir;

use crate::{ENGINES, HOLD};

/// A server that is asked to stop writes down what it has in memory.
const GONE_WITHIN: Duration = Duration::from_secs(30);

pub(super) fn goes_when_dropped(server: Server) {
    let port = server.port();
    drop(server);
    assert!(!listens(port));
}

pub(super) fn goes_with_its_holder(engine: &str) {
    let temporary = temporary_folder();
    let mut holder = holder(engine, temporary.path());
    let mut line = String::new();
    let mut output = BufReader::new(holder.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap();
    assert!(listens(port));
    // With SIGKILL: it can do nothing about its server any more.
    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually(|| !listens(port) && is_empty(temporary.path()));
}

pub(super) fn goes_while_it_is_prepared(engine: &str) {
    let temporary = temporary_folder();
    let mut holder = holder(engine, temporary.path());
    // Its log is opened when the first program is started that prepares it.
    eventually(|| {
        let mut folders = fs::read_dir(temporary.path()).unwrap().flatten();
        folders.any(|folder| folder.path().join("log").exists())
    });
    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually(|| is_empty(temporary.path()));
}

/// For the folders of one test's servers, which may belong to another user.
fn temporary_folder() -> TempDir {
    let mut folder = tempfile::Builder::new();
    folder.permissions(Permissions::from_mode(0o777));
    folder.tempdir().unwrap()
}

fn holder(engine: &str, temporary: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([HOLD, engine])
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn eventually(mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + GONE_WITHIN;
    while !holds() {
        assert!(Instant::now() < until, "not within {GONE_WITHIN:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Starts a server, says on which port, and never lets it go.
pub(super) fn hold(engine: &str) -> ! {
    let (_, start) = ENGINES.iter().find(|(name, _)| *name == engine).unwrap();
    let server = start().unwrap();
    println!("{}", server.port());
    loop {
        thread::park();
    }
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
