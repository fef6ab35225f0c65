//! A value, with the type that SQLite stores it with.

/// A value of a column. `1`, `1.0`, `'1'` and `x'31'` are four values.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each is SQLite's storage class of that name")]
pub enum Value {
    Null,
    Integer(i64),
    /// Never NaN, which SQLite stores as NULL.
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}
