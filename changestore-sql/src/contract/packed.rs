//! Many values in one: how a batch of keys and rows crosses over from the connection's thread.
//!
//! Through sqlx every row of a result is copied value by value and handed from one thread to another, which
//! costs several times of what SQLite takes to find it. So SQLite writes a batch as JSON, in this
//! lossless form, and one value is handed over: an integer is a number, a text a string, a REAL `{"real":"1.5"}`
//! with 17 significant digits, a BLOB `{"blob":"HEX"}`, NULL null.

use std::fmt;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Unexpected, Visitor};

use super::value::Value;

/// The SQL expression of another one's value in the packed form.
pub(super) fn value_sql(expression: &str) -> String {
    format!(
        "CASE typeof({expression}) WHEN 'integer' THEN {expression} \
         WHEN 'text' THEN json_quote({expression}) WHEN 'null' THEN 'null' \
         WHEN 'real' THEN '{{\"real\":\"' || printf('%!.17g', {expression}) || '\"}}' \
         ELSE '{{\"blob\":\"' || hex({expression}) || '\"}}' END"
    )
}

/// A value, from the packed form.
#[derive(Debug)]
pub(super) struct Packed(pub(super) Value);

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PackedVisitor).map(Self)
    }
}

struct PackedVisitor;

impl<'de> Visitor<'de> for PackedVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a packed value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::Integer(integer))
    }

    fn visit_u64<E: serde::de::Error>(self, integer: u64) -> Result<Value, E> {
        i64::try_from(integer)
            .map(Value::Integer)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(integer), &self))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let entry: Option<(&str, &str)> = map.next_entry()?;
        let value = match entry {
            Some(("real", text)) => real(text).map(Value::Real),
            Some(("blob", text)) => bytes(text).map(Value::Blob),
            _ => None,
        };
        value.ok_or_else(|| A::Error::custom("a packed value is neither a REAL nor a BLOB"))
    }
}

/// SQLite prints infinity as `Inf`.
fn real(text: &str) -> Option<f64> {
    text.parse().ok()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    };
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|pair| digits(pair)).collect()
}
