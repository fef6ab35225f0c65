//! The PostgreSQL adapter. The crate's page says how it behaves; each file here is one part of it.

mod codes;
mod engine;
mod migrate;
mod options;
mod rows;
mod session;
mod statements;
mod store;
mod tables;
mod url;
mod value;

pub use options::PostgresOptions;
pub use store::PostgresStore;
