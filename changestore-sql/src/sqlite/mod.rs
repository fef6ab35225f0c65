//! The SQLite adapter. The crate's page says how it behaves; each file here is one part of it.

mod bind;
pub(crate) mod codes;
mod connections;
mod engine;
mod file;
mod group_commit;
mod location;
mod migrate;
mod options;
mod patience;
#[cfg(test)]
mod plans;
mod query;
mod read;
mod script;
mod source;
mod statements;
mod store;

pub use options::{SqliteOptions, Synchronous};
pub use store::SqliteStore;
