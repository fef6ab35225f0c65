//! A changed row's key: the values of its key columns, with their types.
//!
//! The log holds the key of one column as it is, and the key of several as a JSON array in key order.
//! JSON alone would lose types, so the array's elements are: an integer as an integer; text as a
//! string; a REAL with a point or an exponent, so that it is never an integer, and with 17 significant
//! digits, so that it is the same REAL when read; the infinities as `9e999` and `-9e999`; a BLOB
//! as `{"blob":"<hex>"}`.

use std::fmt;

use changestore_core::{Error, Result};
use serde_json::value::RawValue;

/// A value of a key's column, as SQLite stores it. `1`, `1.0`, `'1'` and `x'31'` are four values.
#[derive(Debug, Clone)]
pub enum KeyValue {
    /// An INTEGER.
    Integer(i64),
    /// A REAL; never NaN, which SQLite stores as NULL.
    Real(f64),
    /// A TEXT.
    Text(String),
    /// A BLOB.
    Blob(Vec<u8>),
}

/// The key of a row: one value for each of the table's key columns, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowKey(Vec<KeyValue>);
