//! The fields of a line as JSON, and what is said of one that is not what it has to be.
//!
//! A message names the field and what belongs there, and never repeats what stands there: that may be
//! long, or no business of whoever reads the log.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What a text field has to be.
const TEXT: &str = "a text";

/// The fields that some event has; others are passed over.
#[derive(Deserialize)]
pub(super) struct Fields<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    event: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    queue: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    uris: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    at: Option<&'a RawValue>,
}

/// The kinds of events.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EventName {
    Submit,
    Finish,
}

/// A field that stands there, even with `null`.
fn present<'de, D: Deserializer<'de>>(json: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(json).map(Some)
}

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        // A derived reader would take the fields from an array, too, by their places.
        if !text.trim_ascii_start().starts_with('{') {
            return Err("not a JSON object".to_owned());
        }
        serde_json::from_str(text).map_err(|error| match without_place(&error) {
            reason if error.column() > 0 => format!("{reason} at column {}", error.column()),
            reason => reason,
        })
    }

    pub(super) fn event(&self) -> Result<EventName, String> {
        value(
            "event",
            required("event", self.event)?,
            "\"submit\" or \"finish\"",
        )
    }

    pub(super) fn queue(&self) -> Result<String, String> {
        value("queue", required("queue", self.queue)?, TEXT)
    }

    pub(super) fn request_id(&self) -> Result<String, String> {
        value("request_id", required("request_id", self.request_id)?, TEXT)
    }

    pub(super) fn uris(&self) -> Result<Vec<String>, String> {
        let uris = required("uris", self.uris)?;
        let uris: Vec<&RawValue> = value("uris", uris, "an array of texts")?;
        let uris = uris.into_iter().enumerate();
        uris.map(|(position, uri)| value(&format!("uris[{position}]"), uri, TEXT))
            .collect()
    }

    pub(super) fn state(&self) -> Result<String, String> {
        value("state", required("state", self.state)?, TEXT)
    }

    pub(super) fn at(&self) -> Result<i64, String> {
        let expected = "a whole number of milliseconds since 1970";
        value("at", required("at", self.at)?, expected)
    }
}

fn required<'a>(name: &str, field: Option<&'a RawValue>) -> Result<&'a RawValue, String> {
    field.ok_or_else(|| format!("missing field `{name}`"))
}

fn value<'a, T: Deserialize<'a>>(
    name: &str,
    json: &'a RawValue,
    expected: &str,
) -> Result<T, String> {
    serde_json::from_str(json.get()).map_err(|error| {
        if error.is_data() {
            format!("{name}: expected {expected}")
        } else {
            // Such as half of a surrogate pair, which is no text.
            format!("{name}: {}", without_place(&error))
        }
    })
}

/// The parser counts the lines of its text, which is always the first: the caller knows better.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(reason) => reason.to_owned(),
        None => text,
    }
}
