//! A port that nobody listens on.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::{Doing as _, Result};

/// One that the operating system chooses. Until the server has it, another process may take it: whoever
/// starts the server tries again with another one then.
pub(crate) fn free() -> Result<u16> {
    let doing = "cannot find a free port";
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing(doing)?;
    Ok(listener.local_addr().doing(doing)?.port())
}
