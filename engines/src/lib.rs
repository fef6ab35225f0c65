//! Database servers for tests, started from the machine's own packages or from what its package managers install.
//!
//! A server has a temporary folder of its own, a free port on 127.0.0.1, a random password, and where the
//! test runs as root, an unprivileged user. It ends, and its folder goes, when its handle is
//! dropped and also when the process that started it ends in any other way: by a panic, by Ctrl-C, by
//! `kill -9`.
//!
//! ```no_run
//! let server = engines::postgres::start()?;
//! println!("{} at {}", server.version(), server.url());
//! server.kill()?;
//! server.restart()?; // the same data, the same URL
//! # Ok::<(), engines::Error>(())
//! ```
//!
//! All calls block until what they are asked for is done.

pub mod bigtable;
pub mod dynalite;
mod dynamodb;
pub mod dynoxide;
mod error;
mod folder;
mod install;
pub mod mariadb;
pub mod pgbouncer;
mod port;
pub mod postgres;
mod program;
mod server;
mod supervisor;
mod user;

pub use error::{Error, Result};
pub use install::{Install, install_missing};
pub use program::{check as check_program, find as find_program};
pub use server::Server;
