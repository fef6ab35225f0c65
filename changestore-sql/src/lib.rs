#![doc = include_str!("../README.md")]

#[cfg(feature = "flow")]
mod flow;
pub mod schema;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;

#[cfg(feature = "sqlite")]
pub mod contract;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore, Synchronous};

#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "mysql")]
pub use mysql::{MySqlOptions, MySqlStore};

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
