//! When a server ends.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use engines::Server;

use crate::{ENGINES, HOLD};

/// A server that is asked to stop writes down what it has in memory.
const GONE_WITHIN: Duration = Duration::from_secs(30);

pub(super) fn goes_when_dropped(server: Server) {
    let port = server.port();
    drop(server);
    assert!(!listens(port));
}

pub(super) fn goes_with_its_holder(engine: &str) {
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([HOLD, engine])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(holder.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap();
    assert!(listens(port));
    // With SIGKILL: it can do nothing about its server any more.
    holder.kill().unwrap();
    holder.wait().unwrap();
    let until = Instant::now() + GONE_WITHIN;
    while listens(port) {
        assert!(Instant::now() < until, "{engine} still listens on {port}");
        thread::sleep(Duration::from_millis(20));
    }
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
