//! A port that nobody listens on.

use std::net::{Ipv4Addr, TcpListener};

use uuid::Uuid;

use crate::error::{Doing as _, Result};

/// Below the ports that operating systems give to clients (from 32,768 on in Linux). While a server is killed and
/// restarted its port is free, and a client could be given it: even one that tries to reach that very port, which is
/// connected with itself then.
const FIRST: u16 = 10_000;
const COUNT: u16 = 22_000;

/// How many are tried before the operating system is asked for one.
const TRIES: usize = 50;

/// One of those that no client is given, or else one that the operating system chooses. Until the server has it, another
/// process may take it: whoever starts the server tries again with another one then.
pub(crate) fn free() -> Result<u16> {
    let random = || {
        let [high, low, ..] = Uuid::new_v4().into_bytes();
        FIRST + u16::from_be_bytes([high, low]) % COUNT
    };
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    if let Some(port) = std::iter::repeat_with(random).take(TRIES).find(is_free) {
        return Ok(port);
    }
    let doing = "cannot find a free port";
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing(doing)?;
    Ok(listener.local_addr().doing(doing)?.port())
}
