//! What is bound to a statement, or written into it where nothing can be prepared.

use std::fmt::Write as _;

use sqlx::Arguments as _;
use sqlx::postgres::PgArguments;

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Text(Option<&'a str>),
    Int(Option<i64>),
    Bytes(&'a [u8]),
    Bool(bool),
    Texts(&'a [&'a str]),
    Ints(&'a [i64]),
    Times(&'a [Option<i64>]),
    Blobs(&'a [&'a [u8]]),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text))
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(Some(number))
    }
}

/// The parameters of a prepared statement.
pub(super) fn arguments(values: &[Value<'_>]) -> Result<PgArguments, sqlx::Error> {
    let mut arguments = PgArguments::default();
    for value in values {
        match *value {
            Value::Text(text) => arguments.add(text),
            Value::Int(number) => arguments.add(number),
            Value::Bytes(bytes) => arguments.add(bytes),
            Value::Bool(yes) => arguments.add(yes),
            Value::Texts(texts) => arguments.add(texts),
            Value::Ints(numbers) => arguments.add(numbers),
            Value::Times(times) => arguments.add(times),
            Value::Blobs(blobs) => arguments.add(blobs),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

/// The statement with each `$n` replaced by its value, as a literal.
pub(super) fn written_out(sql: &str, values: &[Value<'_>]) -> String {
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.len() - piece.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = piece.split_at(digits);
        let place: usize = number.parse().unwrap_or_default();
        match place.checked_sub(1).and_then(|place| values.get(place)) {
            Some(value) => literal(&mut text, value),
            // The server says what is wrong with it.
            None => text.extend(["$", number]),
        }
        text.push_str(rest);
    }
    text
}

fn literal(sql: &mut String, value: &Value<'_>) {
    match *value {
        Value::Text(Some(text)) => {
            quoted(sql, text);
            sql.push_str("::text");
        }
        Value::Text(None) => sql.push_str("NULL::text"),
        // In quotes, so that the sign belongs to the number and no operator takes it.
        Value::Int(Some(number)) => append(sql, format_args!("'{number}'::bigint")),
        Value::Int(None) => sql.push_str("NULL::bigint"),
        Value::Bytes(bytes) => {
            hex(sql, bytes);
            sql.push_str("::bytea");
        }
        Value::Bool(yes) => append(sql, format_args!("{yes}")),
        Value::Texts(texts) => {
            array(sql, texts, |sql, text| quoted(sql, text));
            sql.push_str("::text[]");
        }
        Value::Ints(numbers) => {
            array(sql, numbers, |sql, number| {
                append(sql, format_args!("'{number}'"));
            });
            sql.push_str("::bigint[]");
        }
        Value::Times(times) => {
            array(sql, times, |sql, time| match time {
                Some(time) => append(sql, format_args!("'{time}'")),
                None => sql.push_str("NULL"),
            });
            sql.push_str("::bigint[]");
        }
        Value::Blobs(blobs) => {
            array(sql, blobs, |sql, bytes| hex(sql, bytes));
            sql.push_str("::bytea[]");
        }
    }
}

fn hex(sql: &mut String, bytes: &[u8]) {
    sql.push_str(r"E'\\x");
    for byte in bytes {
        append(sql, format_args!("{byte:02x}"));
    }
    sql.push('\'');
}

fn array<T>(sql: &mut String, items: &[T], mut item: impl FnMut(&mut String, &T)) {
    sql.push_str("ARRAY[");
    for (place, it) in items.iter().enumerate() {
        if place > 0 {
            sql.push(',');
        }
        item(sql, it);
    }
    sql.push(']');
}

/// A literal that means the same whatever `standard_conforming_strings` says.
fn quoted(sql: &mut String, text: &str) {
    sql.push_str("E'");
    for c in text.chars() {
        if c == '\'' || c == '\\' {
            sql.push(c);
        }
        sql.push(c);
    }
    sql.push('\'');
}

fn append(sql: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes whatever is written to it.
    let _ = sql.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_places_and_cannot_leave_them() {
        let values = [Value::from(r"it's \ $2"), Value::from(i64::MIN)];
        assert_eq!(
            written_out("SELECT $1, $2, '$'", &values),
            r"SELECT E'it''s \\ $2'::text, '-9223372036854775808'::bigint, '$'"
        );
        let values = [
            Value::Bytes(b"\x00'\xff"),
            Value::Bool(true),
            Value::Text(None),
            Value::Int(None),
        ];
        assert_eq!(
            written_out("$1 $2 $3 $4", &values),
            r"E'\\x0027ff'::bytea true NULL::text NULL::bigint"
        );
        let values = [Value::Texts(&["a", "'"]), Value::Ints(&[1, -1])];
        assert_eq!(
            written_out("$1 $2", &values),
            r"ARRAY[E'a',E'''']::text[] ARRAY['1','-1']::bigint[]"
        );
        let values = [
            Value::Times(&[None, Some(1)]),
            Value::Blobs(&[b"", b"\xff"]),
        ];
        assert_eq!(
            written_out("$1 $2", &values),
            r"ARRAY[NULL,'1']::bigint[] ARRAY[E'\\x',E'\\xff']::bytea[]"
        );
        assert_eq!(written_out("$10$1", &[Value::Bool(false)]), "$10false");
    }
}
