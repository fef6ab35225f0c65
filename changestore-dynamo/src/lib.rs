#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod attempts;
mod builder;
mod claims;
mod classify;
mod counters;
mod documents;
#[cfg(test)]
mod fuzz;
mod item;
mod layout;
mod puts;
mod queries;
mod refusal;
pub mod schema;
mod store;
mod table;

pub use builder::{DynamoBuilder, check_table_name};
pub use store::DynamoStore;

/// The name of this backend in errors.
pub const BACKEND: &str = "dynamodb";

/// The table that a store uses unless it is given another.
pub const DEFAULT_TABLE: &str = "changestore";

// The SDK whose client a store is made from.
pub use aws_sdk_dynamodb;
