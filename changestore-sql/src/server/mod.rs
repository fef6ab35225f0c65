//! The flow of every engine that is a server: a few held connections, each used by one task at a time,
//! and one statement per operation.
//!
//! A *lane* is a task with a connection. A caller hands it a job and waits for the answer, so a caller that
//! goes away never leaves a statement half read or a transaction open: the lane ends what it has
//! begun. sqlx's pool is not used for that: it pings each connection that it hands out or takes back, which costs
//! as much as the statement.

mod alarm;
pub(crate) mod engine;
pub(crate) mod failure;
mod job;
mod lane;
mod lanes;
mod line;
mod perform;
pub(crate) mod settings;
pub(crate) mod store;
mod url;
mod work;

pub(crate) use engine::{Engine, Fate, Put, Setback};
pub(crate) use line::Source;
pub(crate) use settings::Settings;
pub(crate) use store::Server;
pub(crate) use url::{refuse, unknown_parameter};
