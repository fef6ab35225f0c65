//! Stored rows that no store has written.
//!
//! A disk, an operator's `UPDATE` or another program can leave anything behind a store. What it then owes its
//! caller is an error of the kind [`Corrupt`](changestore_core::ErrorKind::Corrupt) that names the key: never a panic,
//! never a value that nobody stored, never a write that was applied and is told as refused; and other keys, though
//! they are written in the same transaction, are none the worse.
//!
//! A backend brings a [`Vandal`], which reaches under the store and replaces one field of a row. Every impossible
//! value is put into every field, then random ones; each row is read, and written by each operation.

mod claims;
mod documents;
mod told;
mod values;

pub use claims::claims;
pub use documents::documents;

use std::fmt;

use async_trait::async_trait;
use changestore_core::{ChangeKey, Key};

/// Reaches under a store: another connection to its database.
#[async_trait]
pub trait Vandal: fmt::Debug + Send + Sync {
    /// Replaces a field of a row that is there. False if the database cannot hold that value there whatever is done
    /// to it, or if the value is one that the store itself might have written with another meaning.
    ///
    /// Constraints that only the schema makes are in the way of operators, and not of broken disks: take
    /// them away.
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool;
}

/// A row by what it is to the contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A record or a counter.
    Document(Key),
    /// A claim.
    Claim(ChangeKey),
}

/// What is stored in a row beside its key, by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A record's or a claim's version.
    Version,
    /// A record's etag.
    Etag,
    /// When a record expires, in milliseconds.
    ExpireAt,
    /// A record's bytes.
    Data,
    /// A counter's value.
    Counter,
    /// A claim's metadata.
    Metadata,
    /// When a claim was made.
    CreatedAt,
    /// When a claim was last written.
    UpdatedAt,
}

/// What a field is replaced by.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// NULL, or no such attribute.
    Nothing,
    /// A number.
    Integer(i64),
    /// A text; it may hold anything that is UTF-8, but no NUL.
    Text(String),
    /// Bytes, which begin with one that no UTF-8 has.
    Bytes(Vec<u8>),
}

/// How much was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Values that the database took.
    pub spoiled: usize,
    /// Values that it cannot hold.
    pub impossible: usize,
    /// Operations on spoiled rows.
    pub operations: usize,
    /// Those of them that were told that the row is corrupt.
    pub corrupt: usize,
}

/// Long ones are cut: they stand in the messages of failed checks.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Integer(number) => write!(f, "Integer({number})"),
            Self::Text(text) => {
                let begin: String = text.chars().take(40).collect();
                write!(f, "Text({begin:?}, {} bytes)", text.len())
            }
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}
