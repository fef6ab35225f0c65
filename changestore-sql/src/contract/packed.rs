//! Many values in one: how a batch of keys and rows crosses over from the connection's thread.
//!
//! Through sqlx every row of a result is copied value by value and handed from one thread to another, which
//! costs several times of what SQLite takes to find it. So SQLite writes a batch as JSON arrays, and one text is
//! handed over. The form is lossless, as that of the keys in the log is: an integer is a number, text a string,
//! NULL null, a BLOB `{"blob":"HEX"}` and a REAL `{"real":[m,e]}`, which is m · 2^e, because SQLite prints
//! decimal fractions inexactly. Infinity is `{"real":[1,9999]}`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, SeqAccess, Unexpected, Visitor};

use super::value::Value;

/// What `json_array` takes.
const MOST_ARGUMENTS: usize = 100;

/// How values are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Any value. Each one's type is looked at, which takes a tenth of the time that it takes to find a row.
    Lossless,
    /// Integers, texts and NULLs. A BLOB is an error of SQLite's, and a REAL a number that is not parsed, so that
    /// neither is taken for what it is not. Where there are too many values for that it is lossless.
    Plain,
}

impl Packing {
    /// The SQL expression of an array of integers, which are never anything else, and of values.
    ///
    /// `json_array` is several times as fast as concatenation, and knows neither BLOBs nor REALs as they are.
    pub(super) fn array(self, integers: &[&str], values: &[String]) -> String {
        if integers.len() + values.len() > MOST_ARGUMENTS {
            return concatenated(integers, values);
        }
        let all: Vec<_> = integers
            .iter()
            .copied()
            .chain(values.iter().map(String::as_str))
            .collect();
        let plain = format!("json_array({})", all.join(", "));
        if self == Self::Plain || values.is_empty() {
            return plain;
        }
        let tests: Vec<_> = values
            .iter()
            .map(|value| format!("typeof({value}) IN ('real', 'blob')"))
            .collect();
        format!(
            "CASE WHEN {} THEN {} ELSE {plain} END",
            balanced(&tests, "OR"),
            concatenated(integers, values)
        )
    }
}

fn concatenated(integers: &[&str], values: &[String]) -> String {
    let all: Vec<_> = integers
        .iter()
        .map(|integer| (*integer).to_owned())
        .chain(values.iter().map(|value| value_sql(value)))
        .collect();
    format!("'[' || {} || ']'", balanced(&all, "|| ',' ||"))
}

/// All of them with the operator in between, no deeper than it must be: SQLite's expressions have a greatest depth.
fn balanced(operands: &[String], operator: &str) -> String {
    match operands {
        [] => String::new(),
        [operand] => operand.clone(),
        _ => {
            let (first, second) = operands.split_at(operands.len() / 2);
            let (first, second) = (balanced(first, operator), balanced(second, operator));
            format!("({first}) {operator} ({second})")
        }
    }
}

fn value_sql(value: &str) -> String {
    format!(
        "CASE typeof({value}) WHEN 'integer' THEN {value} \
         WHEN 'text' THEN json_quote({value}) WHEN 'null' THEN 'null' \
         WHEN 'real' THEN {} ELSE '{{\"blob\":\"' || hex({value}) || '\"}}' END",
        real_sql(value)
    )
}

/// Scales by powers of two, which is exact, until a whole number is left that an INTEGER can hold.
fn real_sql(value: &str) -> String {
    format!(
        "CASE WHEN {value} = 9e999 THEN '{{\"real\":[1,9999]}}' \
         WHEN {value} = -9e999 THEN '{{\"real\":[-1,9999]}}' ELSE (\
           WITH RECURSIVE scaled(m, e) AS (SELECT {value}, 0 UNION ALL \
             SELECT CASE WHEN abs(m) >= 9.2e18 THEN m / 1024 ELSE m * 1024 END, \
               CASE WHEN abs(m) >= 9.2e18 THEN e + 10 ELSE e - 10 END \
             FROM scaled WHERE abs(m) >= 9.2e18 OR m <> CAST(m AS INTEGER)) \
           SELECT '{{\"real\":[' || CAST(m AS INTEGER) || ',' || e || ']}}' FROM scaled \
           WHERE abs(m) < 9.2e18 AND m = CAST(m AS INTEGER)) END"
    )
}

/// Parses arrays that stand side by side, with commas between them.
pub(super) fn arrays<T: for<'de> Deserialize<'de>>(packed: &[u8]) -> serde_json::Result<Vec<T>> {
    list(packed)
}

/// Parses the elements of a list, with commas between them.
pub(super) fn list<T: for<'de> Deserialize<'de>>(packed: &[u8]) -> serde_json::Result<T> {
    let mut text = Vec::with_capacity(packed.len() + 2);
    text.push(b'[');
    text.extend_from_slice(packed);
    text.push(b']');
    serde_json::from_slice(&text)
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
        match map.next_key()? {
            Some("real") => map.next_value().map(|Scaled(m, e)| Value::Real(real(m, e))),
            Some("blob") => map.next_value().map(|Hex(bytes)| Value::Blob(bytes)),
            _ => Err(A::Error::custom(
                "a packed value is neither a REAL nor a BLOB",
            )),
        }
    }
}

#[derive(Deserialize)]
struct Scaled(i64, i32);

/// m · 2^e, exactly: m has no more digits than a REAL. In two steps, because the least REALs are further
/// from 1 than the powers of two reach.
fn real(m: i64, e: i32) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "it was a REAL before")]
    let m = m as f64;
    let half = e / 2;
    m * 2_f64.powi(half) * 2_f64.powi(e - half)
}

struct Hex(Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HexVisitor;

        impl Visitor<'_> for HexVisitor {
            type Value = Hex;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes in hexadecimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hex, E> {
                let (pairs, rest) = text.as_bytes().as_chunks::<2>();
                let byte = |pair: &[u8; 2]| {
                    let pair = std::str::from_utf8(pair).ok()?;
                    u8::from_str_radix(pair, 16).ok()
                };
                let bytes: Option<_> = pairs.iter().map(byte).collect();
                match bytes.filter(|_| rest.is_empty()) {
                    Some(bytes) => Ok(Hex(bytes)),
                    None => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_str(HexVisitor)
    }
}

/// A row of values, which are all of the rest of their array.
#[derive(Debug)]
pub(super) struct PackedRow(pub(super) Vec<Value>);

impl<'de> Deserialize<'de> for PackedRow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;

        impl<'de> Visitor<'de> for RowVisitor {
            type Value = PackedRow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a packed row")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<PackedRow, A::Error> {
                let mut values = Vec::with_capacity(row.size_hint().unwrap_or(8));
                while let Some(Packed(value)) = row.next_element()? {
                    values.push(value);
                }
                Ok(PackedRow(values))
            }
        }

        deserializer.deserialize_seq(RowVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::{Connection as _, SqliteConnection};

    /// What SQLite packs, and that it is the same when it comes back.
    async fn packed(connection: &mut SqliteConnection, expression: &str) -> Value {
        let sql = format!(
            "SELECT {} FROM (SELECT {expression} AS x)",
            Packing::Lossless.array(&[], &["x".into()])
        );
        let text: Vec<u8> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(connection)
            .await
            .unwrap();
        let mut rows: Vec<PackedRow> = arrays(&text).unwrap();
        rows.pop().unwrap().0.pop().unwrap()
    }

    #[tokio::test]
    async fn values_come_back_as_they_were() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let text = |text: &str| Value::Text(text.to_owned());
        for (expression, value) in [
            ("NULL", Value::Null),
            ("1", Value::Integer(1)),
            ("-9223372036854775808", Value::Integer(i64::MIN)),
            ("9223372036854775807", Value::Integer(i64::MAX)),
            ("'1'", text("1")),
            ("''", text("")),
            ("'{\"real\":[1,2]}'", text("{\"real\":[1,2]}")),
            (
                "'a' || char(0, 1, 34, 92, 10, 8232) || '😀'",
                text("a\0\u{1}\"\\\n\u{2028}😀"),
            ),
            ("x''", Value::Blob(Vec::new())),
            ("x'00FF31'", Value::Blob(vec![0, 255, 0x31])),
            ("1.0", Value::Real(1.0)),
            ("0.1 + 0.2", Value::Real(0.1 + 0.2)),
            ("9e999", Value::Real(f64::INFINITY)),
            ("-9e999", Value::Real(f64::NEG_INFINITY)),
            ("9007199254740993.0", Value::Real(9_007_199_254_740_992.0)),
        ] {
            assert_eq!(
                packed(&mut connection, expression).await,
                value,
                "{expression}"
            );
        }
    }

    #[tokio::test]
    async fn every_real_comes_back_as_it_was() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let sql = format!(
            "SELECT {} FROM (SELECT ?1 AS x)",
            Packing::Lossless.array(&[], &["x".into()])
        );
        let mut bits = 1_u64;
        let mut reals = vec![
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            1e22,
            9.2e18,
            -9.3e18,
        ];
        while reals.len() < 3_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let real = f64::from_bits(bits);
            if real.is_finite() {
                reals.push(real);
            }
        }
        for real in reals {
            let text: Vec<u8> = sqlx::query_scalar(sqlx::AssertSqlSafe(sql.clone()))
                .bind(real)
                .fetch_one(&mut connection)
                .await
                .unwrap();
            let rows: Vec<PackedRow> = arrays(&text).unwrap();
            assert_eq!(rows[0].0, [Value::Real(real)]);
        }
    }

    #[test]
    fn what_sqlite_does_not_write_is_refused() {
        for text in [
            "[1.5]",
            "[true]",
            r#"[{"real":"1"}]"#,
            r#"[{"blob":"1"}]"#,
            r#"[{"x":1}]"#,
            "[18446744073709551615]",
        ] {
            assert!(arrays::<PackedRow>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
