#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod address;
mod builder;
mod cells;
mod claims;
mod classify;
mod connection;
mod counters;
mod credentials;
mod documents;
mod filters;
#[cfg(test)]
mod fuzz;
mod layout;
mod merge;
mod mutations;
mod puts;
mod queries;
mod scan;
pub mod schema;
mod store;
mod table;
mod transport;
mod turns;

pub use builder::BigtableBuilder;
pub use store::BigtableStore;

/// The name of this backend in errors.
pub const BACKEND: &str = "bigtable";

/// The table that a store uses unless it is given another.
pub const DEFAULT_TABLE: &str = "changestore";

/// The variable that names an emulator, as Google's own clients read it.
pub const EMULATOR_HOST: &str = "BIGTABLE_EMULATOR_HOST";

// Whose credentials a store can be given.
pub use google_cloud_auth;
