//! The cursor: up to where a consumer has seen an archive, to be stored beside what was derived from it.

use std::fmt;
use std::str::FromStr;

use changestore_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::identity::FileIdentity;

/// Up to where a consumer has seen an archive.
///
/// It is a consumer's to store, in the same transaction as what it derived from the rows. Its form is JSON
/// and stays as it is; other readers may add fields, which are ignored:
///
/// ```
/// use changestore_sql::contract::Cursor;
///
/// let text = r#"{"epoch":"6f0c1f1b","generation":1,"schema_version":12,"seq":345,
///     "file":{"device":2049,"inode":77,"born_ns":null}}"#;
/// let cursor: Cursor = text.parse()?;
/// assert_eq!((cursor.generation, cursor.seq), (1, 345));
/// assert_eq!(cursor.to_string().parse::<Cursor>()?, cursor);
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
#[non_exhaustive]
pub struct Cursor {
    /// Changes when the contract is created anew.
    pub epoch: String,
    /// Advances when a table is re-armed, and with each bump.
    pub generation: i64,
    /// SQLite's schema version: advances with every DDL statement.
    pub schema_version: i64,
    /// Every change up to this one, it included, has been seen.
    pub seq: i64,
    /// The file that it was read from.
    pub file: FileIdentity,
}

/// What is wrong with a stored cursor.
fn refuse(reason: String) -> Error {
    Error::invalid_argument("cursor", reason)
}

/// One object of the cursor's JSON; its fields are taken by name.
struct Fields<'a> {
    inside: &'static str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, inside: &'static str) -> Result<Self> {
        match value.as_object() {
            Some(map) => Ok(Self { inside, map }),
            None if inside.is_empty() => Err(refuse("it is not a JSON object".into())),
            None => Err(refuse(format!(
                "{} is not an object",
                inside.trim_end_matches('.')
            ))),
        }
    }

    fn get(&self, name: &str) -> Result<&'a Value> {
        let value = self.map.get(name);
        value.ok_or_else(|| refuse(format!("{}{name} is missing", self.inside)))
    }

    fn is_not(&self, name: &str, what: &str) -> Error {
        refuse(format!("{}{name} is not {what}", self.inside))
    }

    fn text(&self, name: &str) -> Result<String> {
        let text = self.get(name)?.as_str().filter(|text| !text.is_empty());
        Ok(text.ok_or_else(|| self.is_not(name, "a text"))?.to_owned())
    }

    fn count(&self, name: &str) -> Result<i64> {
        let count = self.get(name)?.as_i64().filter(|count| *count >= 0);
        count.ok_or_else(|| self.is_not(name, "an integer of 0 or more"))
    }

    fn number(&self, name: &str) -> Result<u64> {
        let number = self.get(name)?.as_u64();
        number.ok_or_else(|| self.is_not(name, "an integer of 0 or more"))
    }

    fn integer_if_any(&self, name: &str) -> Result<Option<i64>> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(integer) => Ok(Some(integer)),
                None => Err(self.is_not(name, "an integer or null")),
            },
        }
    }
}

impl TryFrom<Value> for Cursor {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        let fields = Fields::of(&value, "")?;
        let file = Fields::of(fields.get("file")?, "file.")?;
        Ok(Self {
            epoch: fields.text("epoch")?,
            generation: fields.count("generation")?,
            schema_version: fields.count("schema_version")?,
            seq: fields.count("seq")?,
            file: FileIdentity {
                device: file.number("device")?,
                inode: file.number("inode")?,
                born_ns: file.integer_if_any("born_ns")?,
            },
        })
    }
}

/// # Errors
/// [`InvalidArgument`](changestore_core::ErrorKind::InvalidArgument) of `cursor`, which names the field that
/// is missing or of another type.
impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| refuse(format!("it is not JSON: {error}")))?;
        Self::try_from(value)
    }
}

/// Its JSON, on one line.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = r#"{"epoch":"e","generation":2,"schema_version":3,"seq":4,"file":{"device":5,"inode":6,"born_ns":7}}"#;

    fn refusal(text: &str) -> String {
        text.parse::<Cursor>().unwrap_err().to_string()
    }

    #[test]
    fn the_stored_form_is_what_it_was() {
        let cursor: Cursor = STORED.parse().unwrap();
        assert_eq!(cursor.to_string(), STORED);
        let through_serde: Cursor = serde_json::from_str(STORED).unwrap();
        assert_eq!(through_serde, cursor);
    }

    #[test]
    fn fields_of_others_are_ignored_and_a_birth_need_not_be_known() {
        let text = r#"{"by":"other","epoch":"e","generation":2,"schema_version":3,"seq":4,"file":{"device":5,"inode":6,"path":"x"}}"#;
        assert_eq!(text.parse::<Cursor>().unwrap().file.born_ns, None);
    }

    #[test]
    fn garbage_is_refused_by_the_name_of_its_field() {
        for (from, to, named) in [
            (r#""e""#, "1", "epoch is not a text"),
            (r#""e""#, r#""""#, "epoch is not a text"),
            (
                r#""generation":2"#,
                r#""generation":"2""#,
                "generation is not an integer",
            ),
            (
                r#""schema_version":3"#,
                r#""schema_version":3.5"#,
                "schema_version is not an integer",
            ),
            (
                r#""seq":4"#,
                r#""seq":-4"#,
                "seq is not an integer of 0 or more",
            ),
            (r#""seq":4,"#, "", "seq is missing"),
            (
                r#""inode":6"#,
                r#""inode":null"#,
                "file.inode is not an integer",
            ),
            (r#""device":5,"#, "", "file.device is missing"),
            (
                r#""born_ns":7"#,
                r#""born_ns":"now""#,
                "file.born_ns is not an integer or null",
            ),
            (
                r#"{"device":5,"inode":6,"born_ns":7}"#,
                "9",
                "file is not an object",
            ),
        ] {
            let broken = STORED.replacen(from, to, 1);
            assert_ne!(broken, STORED);
            let refusal = refusal(&broken);
            assert!(refusal.contains(named), "{refusal} does not say {named}");
        }
        assert!(refusal("[]").contains("not a JSON object"));
        assert!(refusal("{").contains("not JSON"));
    }
}
