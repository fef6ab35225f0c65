//! Values and their types as one text, the same for both drivers and for Python.

use changestore_sql::contract::{RowKey, Value};
use rusqlite::types::ValueRef;

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// As our reader gives it.
pub(crate) fn ours(value: &Value) -> String {
    match value {
        Value::Null => "n".to_owned(),
        Value::Integer(integer) => format!("i{integer}"),
        Value::Real(real) => format!("r{:016x}", real.to_bits()),
        Value::Text(text) => format!("t{text}"),
        Value::Blob(bytes) => format!("b{}", hex(bytes)),
    }
}

pub(crate) fn key(key: &RowKey) -> Vec<String> {
    key.parts().iter().map(ours).collect()
}

/// As rusqlite gives it.
pub(crate) fn stored(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "n".to_owned(),
        ValueRef::Integer(integer) => format!("i{integer}"),
        ValueRef::Real(real) => format!("r{:016x}", real.to_bits()),
        ValueRef::Text(text) => format!("t{}", std::str::from_utf8(text).unwrap()),
        ValueRef::Blob(bytes) => format!("b{}", hex(bytes)),
    }
}
