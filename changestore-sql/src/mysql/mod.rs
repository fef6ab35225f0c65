//! The adapter of MySQL and MariaDB. The crate's page says how it behaves; each file here is one part of
//! it.

mod codes;
mod collect;
mod effect;
mod engine;
mod migrate;
mod options;
mod page;
mod rows;
mod session;
mod statements;
mod store;
mod tables;
mod url;

pub use options::MySqlOptions;
pub use store::MySqlStore;
