//! One line of the file: a land request is submitted, or has finished.

use changestore_core::{ChangeKey, ErrorKind, Timestamp, limits};

use super::fields::{EventName, Fields};
use super::request::{self, Finish};

/// A checked event: every key it leads to is legal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) queue: String,
    pub(crate) request_id: String,
    pub(crate) at: Timestamp,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The changes that the request wants to land, each once, in the order given.
    Submit { uris: Vec<String> },
    /// How it ended.
    Finish { state: String },
}

impl Event {
    /// Reads a line; the error is the reason for a person.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line)
            .map_err(|error| format!("not UTF-8 from byte {} on", error.valid_up_to() + 1))?;
        let fields = Fields::parse(text)?;
        match fields.event()? {
            EventName::Submit => Self::submit(
                fields.queue()?,
                fields.request_id()?,
                fields.uris()?,
                fields.at()?,
            ),
            EventName::Finish => Self::finish(
                fields.queue()?,
                fields.request_id()?,
                fields.state()?,
                fields.at()?,
            ),
        }
    }

    fn submit(
        queue: String,
        request_id: String,
        uris: Vec<String>,
        at: i64,
    ) -> Result<Self, String> {
        check_request(&queue, &request_id)?;
        if uris.is_empty() {
            return Err("uris is empty: a request lands at least one change".to_owned());
        }
        let mut distinct = Vec::with_capacity(uris.len());
        let mut seen = std::collections::HashSet::with_capacity(uris.len());
        for (position, uri) in uris.into_iter().enumerate() {
            ChangeKey::check_uri(&queue, &uri)
                .map_err(|error| format!("uris[{position}]: {error}"))?;
            if seen.insert(uri.clone()) {
                distinct.push(uri);
            }
        }
        Ok(Self {
            queue,
            request_id,
            at: timestamp(at)?,
            kind: Kind::Submit { uris: distinct },
        })
    }

    fn finish(queue: String, request_id: String, state: String, at: i64) -> Result<Self, String> {
        check_request(&queue, &request_id)?;
        if state.is_empty() {
            return Err("state is empty".to_owned());
        }
        if state.len() > Finish::MAX_STATE_BYTES {
            return Err(format!(
                "state is too large: {} bytes, at most {} are allowed",
                state.len(),
                Finish::MAX_STATE_BYTES
            ));
        }
        Ok(Self {
            queue,
            request_id,
            at: timestamp(at)?,
            kind: Kind::Finish { state },
        })
    }

    pub(crate) fn is_submit(&self) -> bool {
        matches!(self.kind, Kind::Submit { .. })
    }
}

fn check_request(queue: &str, request_id: &str) -> Result<(), String> {
    limits::QUEUE
        .check_key_part(queue)
        .and_then(|()| limits::REQUEST_ID.check_key_part(request_id))
        // Follows from the two limits above; checked so that a change of those cannot break it.
        .and_then(|()| request::key(queue, request_id).map(drop))
        .map_err(|error| error.to_string())
}

fn timestamp(at: i64) -> Result<Timestamp, String> {
    Timestamp::from_millis(at).map_err(|error| match error.kind() {
        ErrorKind::InvalidArgument { reason, .. } => format!("at is invalid: {reason}"),
        _ => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reason(line: &str) -> String {
        Event::parse(line.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_uri_that_is_named_twice_counts_once_and_other_fields_are_passed_over() {
        let line = r#"{"at":1,"uris":["b","a","b"],"request_id":"r","queue":"q","event":"submit","by":{"x":[1]}}"#;
        let event = Event::parse(line.as_bytes()).unwrap();
        let uris = vec!["b".to_owned(), "a".to_owned()];
        assert_eq!(event.kind, Kind::Submit { uris });
    }

    #[test]
    fn each_fault_is_named() {
        let faults = [
            ("hello", "not a JSON object"),
            (r#"["finish","q","r","landed",1]"#, "not a JSON object"),
            ("{", "EOF while parsing an object at column 1"),
            ("{}", "missing field `event`"),
            (
                r#"{"event":"cancel"}"#,
                "event: expected \"submit\" or \"finish\"",
            ),
            (
                r#"{"event":"submit","queue":"q","request_id":"r","at":1}"#,
                "missing field `uris`",
            ),
            (
                r#"{"event":"submit","queue":"q","queue":"p","request_id":"r","uris":["u"],"at":1}"#,
                "duplicate field `queue`",
            ),
            (
                r#"{"event":"submit","queue":"q","request_id":"r","uris":["u"],"at":1.5}"#,
                "at: expected a whole number of milliseconds since 1970",
            ),
            (
                r#"{"event":"submit","queue":"q","request_id":"r","uris":[],"at":1}"#,
                "uris is empty",
            ),
            (
                r#"{"event":"submit","queue":"q","request_id":"r","uris":["u",""],"at":1}"#,
                "uris[1]: uri is invalid: must not be empty",
            ),
            (
                r#"{"event":"submit","queue":"","request_id":"r","uris":["u"],"at":1}"#,
                "queue is invalid: must not be empty",
            ),
            (
                r#"{"event":"submit","queue":"q","request_id":"r\u0000","uris":["u"],"at":1}"#,
                "request_id is invalid: must not contain NUL",
            ),
            (
                r#"{"event":"submit","queue":"q","request_id":"r","uris":["u"],"at":-1}"#,
                "at is invalid: -1 ms",
            ),
            (
                r#"{"event":"finish","queue":"q","request_id":"r","state":"","at":1}"#,
                "state is empty",
            ),
        ];
        for (line, expected) in faults {
            let reason = reason(line);
            assert!(reason.starts_with(expected), "{line}: {reason}");
            assert!(!reason.contains("line 1"), "{line}: {reason}");
        }
        let not_text = Event::parse(b"{\"event\":\"\xff\"}").unwrap_err();
        assert_eq!(not_text, "not UTF-8 from byte 11 on");
        let brackets = "[".repeat(100_000);
        let deep = reason(&format!(r#"{{"x":{brackets}"#));
        assert!(deep.starts_with("EOF while parsing"), "{deep}");
        let closed = "]".repeat(100_000);
        let deep = format!(r#"{{"event":"submit","queue":{brackets}{closed}}}"#);
        assert_eq!(reason(&deep), "queue: expected a text");
    }

    #[test]
    fn a_value_of_another_type_is_named_and_not_repeated() {
        let good = [
            ("queue", r#""q""#),
            ("request_id", r#""r""#),
            ("uris", r#"["u"]"#),
            ("state", r#""landed""#),
            ("at", "1"),
        ];
        let line = |event: &str, field: &str, value: &str| {
            let fields = good.map(|(name, usual)| {
                let value = if name == field { value } else { usual };
                format!(r#""{name}":{value}"#)
            });
            format!(r#"{{"event":{event},{}}}"#, fields.join(","))
        };
        let wrong = [
            "null",
            "true",
            "5",
            "-5.25",
            "1e3",
            r#""5""#,
            r#"["s3cret"]"#,
            r#"{"s3cret":1}"#,
        ];
        let expected = [
            ("queue", "a text"),
            ("request_id", "a text"),
            ("uris", "an array of texts"),
            ("state", "a text"),
            ("at", "a whole number of milliseconds since 1970"),
        ];
        for (field, expected) in expected {
            let event = if field == "state" {
                r#""finish""#
            } else {
                r#""submit""#
            };
            for value in wrong {
                let is_right = match expected {
                    "a text" => value.starts_with('"'),
                    "an array of texts" => value.starts_with('['),
                    _ => value == "5",
                };
                let parsed = Event::parse(line(event, field, value).as_bytes());
                if is_right {
                    assert!(parsed.is_ok(), "{field} {value}");
                } else {
                    assert_eq!(
                        parsed,
                        Err(format!("{field}: expected {expected}")),
                        "{value}"
                    );
                }
            }
        }
        assert_eq!(
            reason(&line(r#""submit""#, "uris", r#"["u",5]"#)),
            "uris[1]: expected a text"
        );
        assert_eq!(
            reason(&line(r#""submit""#, "at", "99999999999999999999")),
            "at: expected a whole number of milliseconds since 1970"
        );
        for event in ["null", "5", r#""s3cret""#, r#"{"submit":1}"#] {
            let reason = reason(&line(event, "", ""));
            assert!(reason.starts_with("event: "), "{reason}");
            assert!(!reason.contains("s3cret"), "{reason}");
        }
        let half = reason(&line(r#""submit""#, "queue", r#""\ud800""#));
        assert!(half.starts_with("queue: "), "{half}");
    }

    #[test]
    fn the_longest_legal_keys_are_legal() {
        let line = format!(
            r#"{{"event":"finish","queue":"{}","request_id":"{}","state":"landed","at":0}}"#,
            "q".repeat(255),
            "r".repeat(255),
        );
        assert!(Event::parse(line.as_bytes()).is_ok());
    }

    /// Events, and what has one thing wrong with it.
    const NEARLY_RIGHT: &str = "\\{\"event\":\"(submit|finish|x)\",\"queue\":\"[a-z/é]{0,4}\",\
        \"request_id\":\"[a-z\\\\u0]{0,4}\",(\"uris\":\\[(\"[a-z%/]{0,3}\",){0,2}\"[a-z]{1,3}\"\\],)?\
        (\"state\":\"[a-z]{0,6}\",)?\"at\":-?[0-9]{1,18}[}\\]]{1,2}";

    fn take(line: &[u8]) {
        match Event::parse(line) {
            Ok(event) => {
                assert!(request::key(&event.queue, &event.request_id).is_ok());
                if let Kind::Submit { uris } = &event.kind {
                    for uri in uris {
                        assert!(ChangeKey::new(&event.queue, uri, &event.request_id).is_ok());
                    }
                }
            }
            Err(reason) => assert!(!reason.is_empty()),
        }
    }

    /// A fuzz target. A second as a test, or as long as `BOLERO_RANDOM_TEST_TIME_MS` says.
    #[test]
    fn lines() {
        const MADE_OF: &[&str] = &[
            "{",
            "}",
            "\"event\":",
            "\"submit\"",
            "\"finish\"",
            "\"queue\":",
            "\"request_id\":",
            "\"uris\":",
            "\"state\":",
            "\"at\":",
            "\"q\"",
            "[",
            "]",
            ",",
            "1",
            "-1",
            "99999999999999999999",
            "1.5",
            "null",
            "\\u0000",
            "\\ud800",
        ];
        bolero::check!().for_each(|bytes| {
            // Of a byte's upper half what lines are made of, of its lower half itself.
            let piece = |byte: &u8| match byte.checked_sub(128) {
                None => vec![*byte],
                Some(number) => MADE_OF[usize::from(number) % MADE_OF.len()].into(),
            };
            take(&bytes.iter().flat_map(piece).collect::<Vec<u8>>());
        });
    }

    proptest! {
        /// Files come from elsewhere: each line is an event whose keys are legal, or is refused with a reason.
        #[test]
        fn a_line_of_anything_is_an_event_or_is_refused(line in prop_oneof![
            any::<Vec<u8>>(),
            NEARLY_RIGHT.prop_map(String::into_bytes),
        ]) {
            take(&line);
        }
    }
}
