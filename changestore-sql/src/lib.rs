#![doc = include_str!("../README.md")]

#[cfg(feature = "sqlite")]
mod backoff;
#[cfg(feature = "sqlite")]
mod call;
#[cfg(feature = "sqlite")]
mod classify;
#[cfg(feature = "sqlite")]
mod connections;
#[cfg(feature = "sqlite")]
pub mod contract;
#[cfg(feature = "sqlite")]
mod garbage;
#[cfg(feature = "sqlite")]
mod group_commit;
#[cfg(feature = "sqlite")]
mod judge;
#[cfg(feature = "sqlite")]
mod reply;
#[cfg(feature = "sqlite")]
mod rows;
pub mod schema;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "sqlite")]
mod write;

#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore, Synchronous};
