//! A changed row's key: the values of its key columns, with their types.
//!
//! The log shows a key of one column as it is, and a key of several as a JSON array in key order.
//! Plain JSON would lose types, so its elements are: an INTEGER as an integer; a TEXT as a string, or where it has
//! control characters as `{"text":"<HEX>"}`, its bytes (`utf16le`, `utf16be` in databases of those encodings); a
//! REAL that is a whole number of less than 2^53 with `.0` at its end, any other as `{"real":[m,e]}`,
//! which is m · 2^e, and the infinities as `9e999` and `-9e999`; a BLOB as `{"blob":"<HEX>"}`.
//! REALs are not decimal fractions because SQLite's conversions of those are not exact.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::value::Value;

/// The key of a row: a value for each of the table's key columns, in their order.
///
/// Keys are equal if their values are, type by type: `1`, `1.0`, `'1'` and `x'31'` are four keys, and
/// `'a'` is not `'A'`. `Display` is the log's form, with REALs as decimal fractions.
#[derive(Debug, Clone, PartialEq)]
pub struct RowKey(Vec<Value>);

impl RowKey {
    /// From what the log holds for a table of so many key columns; none if that is no such key.
    pub(super) fn decode(stored: Value, columns: usize) -> Option<Self> {
        let parts = match stored {
            Value::Null => return None,
            value if columns == 1 => vec![value],
            Value::Text(text) => {
                let elements: Vec<&RawValue> = serde_json::from_str(&text).ok()?;
                elements.into_iter().map(element).collect::<Option<_>>()?
            }
            _ => return None,
        };
        (parts.len() == columns)
            .then(|| Self(parts.into_iter().map(without_negative_zero).collect()))
    }

    /// The values. None is NULL: a key with one is refused when the table comes to be tracked.
    #[must_use]
    pub fn parts(&self) -> &[Value] {
        &self.0
    }
}

/// No REAL of a key is NaN, which SQLite stores as NULL.
impl Eq for RowKey {}

impl Hash for RowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for part in &self.0 {
            match part {
                Value::Null => 0_u8.hash(state),
                Value::Integer(integer) => (1_u8, integer).hash(state),
                Value::Real(real) => (2_u8, real.to_bits()).hash(state),
                Value::Text(text) => (3_u8, text).hash(state),
                Value::Blob(bytes) => (4_u8, bytes).hash(state),
            }
        }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [part] = &*self.0 {
            return write_part(part, f);
        }
        for (place, part) in self.0.iter().enumerate() {
            f.write_str(if place == 0 { "[" } else { "," })?;
            write_part(part, f)?;
        }
        f.write_str("]")
    }
}

/// The two zeros are one key: SQLite holds them to be equal.
fn without_negative_zero(value: Value) -> Value {
    match value {
        Value::Real(real) => Value::Real(real + 0.0),
        value => value,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tagged {
    Real(i64, i32),
    Blob(String),
    Text(String),
    Utf16le(String),
    Utf16be(String),
}

fn element(element: &RawValue) -> Option<Value> {
    let text = element.get();
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok().map(Value::Text),
        b'{' => match serde_json::from_str(text).ok()? {
            Tagged::Real(mantissa, exponent) => Some(Value::Real(scaled(mantissa, exponent)?)),
            Tagged::Blob(hex) => bytes(&hex).map(Value::Blob),
            Tagged::Text(hex) => String::from_utf8(bytes(&hex)?).ok().map(Value::Text),
            Tagged::Utf16le(hex) => utf16(&bytes(&hex)?, u16::from_le_bytes),
            Tagged::Utf16be(hex) => utf16(&bytes(&hex)?, u16::from_be_bytes),
        },
        _ => match text {
            "9e999" => Some(Value::Real(f64::INFINITY)),
            "-9e999" => Some(Value::Real(f64::NEG_INFINITY)),
            _ if text.ends_with(".0") => text.parse().ok().map(Value::Real),
            _ => text.parse().ok().map(Value::Integer),
        },
    }
}

/// m · 2^e. Exact for what the triggers write: a REAL scaled by a power of two.
fn scaled(mantissa: i64, exponent: i32) -> Option<f64> {
    #[allow(
        clippy::cast_precision_loss,
        reason = "it was a REAL with 53 bits before"
    )]
    let mantissa = mantissa as f64;
    let power = |exponent: i32| 2_f64.powi(exponent);
    // In two steps: the least REAL is further from 1 than the greatest.
    (-1074..=1023).contains(&exponent).then(|| match exponent {
        ..-1000 => mantissa * power(-1000) * power(exponent + 1000),
        _ => mantissa * power(exponent),
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<Value> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    let text = String::from_utf16(&units).ok()?;
    rest.is_empty().then_some(Value::Text(text))
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(byte).collect()
}

fn write_part(part: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match part {
        Value::Null => f.write_str("null"),
        Value::Integer(integer) => write!(f, "{integer}"),
        Value::Text(text) => write!(f, "{}", serde_json::Value::from(&**text)),
        Value::Real(f64::INFINITY) => f.write_str("9e999"),
        Value::Real(f64::NEG_INFINITY) => f.write_str("-9e999"),
        Value::Real(real) => write!(f, "{real:?}"),
        Value::Blob(bytes) => {
            f.write_str(r#"{"blob":""#)?;
            for byte in bytes {
                write!(f, "{byte:02X}")?;
            }
            f.write_str(r#""}"#)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str, columns: usize) -> Option<Vec<Value>> {
        RowKey::decode(Value::Text(text.to_owned()), columns).map(|key| key.0)
    }

    #[test]
    fn a_composite_key_keeps_types() {
        let key = r#"[1,1.0,"1",{"blob":"31"},9e999,-9e999,{"real":[3,-1]},{"text":"0A00"}]"#;
        let expected = vec![
            Value::Integer(1),
            Value::Real(1.0),
            Value::Text("1".to_owned()),
            Value::Blob(b"1".to_vec()),
            Value::Real(f64::INFINITY),
            Value::Real(f64::NEG_INFINITY),
            Value::Real(1.5),
            Value::Text("\n\0".to_owned()),
        ];
        assert_eq!(decoded(key, 8), Some(expected));
    }

    #[test]
    fn the_extremes_of_reals_are_exact() {
        for (text, real) in [
            (r#"[0,{"real":[1,-1074]}]"#, f64::from_bits(1)),
            (r#"[0,{"real":[9007199254740991,971]}]"#, f64::MAX),
            (
                r#"[0,{"real":[-4503599627370496,-1074]}]"#,
                -f64::MIN_POSITIVE,
            ),
        ] {
            assert_eq!(
                decoded(text, 2),
                Some(vec![Value::Integer(0), Value::Real(real)]),
                "{text}"
            );
        }
    }

    #[test]
    fn what_no_trigger_writes_is_no_key() {
        for text in [
            "",
            "[",
            "[1]",
            "[1,2,3]",
            "[1,null]",
            "[1,1.5]",
            r#"[1,{"blob":"3"}]"#,
            r#"[1,{"text":"FF"}]"#,
            r#"[1,{"utf16le":"00"}]"#,
            r#"[1,{"utf16be":"D800"}]"#,
            "1",
        ] {
            assert_eq!(decoded(text, 2), None, "{text}");
        }
        assert_eq!(RowKey::decode(Value::Integer(1), 2), None);
        assert_eq!(RowKey::decode(Value::Null, 1), None);
    }
}
