//! A land request as it is kept in the document store, which is also how its liveness is known.

use changestore_core::{Error, Key, NewRecord, Record, RequestState, Result};
use serde::{Deserialize, Serialize};

/// The record of a request: partition `REQUEST#<queue>`, sort key the request's id.
///
/// ```json
/// {"verdict":"claimed","uris":["…"],"submitted_at":1768328247000,"finished":{"state":"landed","at":1768328307000}}
/// {"verdict":"duplicate","duplicate_of":"main/1","duplicate_uri":"…","uris":["…"],"submitted_at":…}
/// ```
///
/// It is written when the verdict falls and once more when the request finishes, never in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandRequest {
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
    /// The changes, each once.
    pub(crate) uris: Vec<String>,
    /// Milliseconds since the epoch.
    pub(crate) submitted_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished: Option<Finish>,
}

/// What the validate step said; it never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// No live request wanted any of the changes; they are claimed.
    Claimed,
    /// A live request had claimed one of the changes; none is claimed.
    Duplicate {
        #[serde(rename = "duplicate_of")]
        of: String,
        #[serde(rename = "duplicate_uri")]
        uri: String,
    },
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finish {
    /// The caller's word, such as `landed`.
    pub(crate) state: String,
    /// Milliseconds since the epoch.
    pub(crate) at: i64,
}

impl Finish {
    /// The longest state in bytes.
    pub(crate) const MAX_STATE_BYTES: usize = 255;
}

impl LandRequest {
    /// Whether its claims count: claimed, and not finished.
    pub(crate) fn state(&self) -> RequestState {
        match (&self.verdict, &self.finished) {
            (Verdict::Claimed, None) => RequestState::Live,
            (Verdict::Claimed | Verdict::Duplicate { .. }, _) => RequestState::Terminal,
        }
    }

    pub(crate) fn from_record(record: &Record) -> Result<Self> {
        serde_json::from_slice(&record.data).map_err(|error| {
            Error::corrupt("this is no land request of `changestore validate`")
                .with_key(&record.key)
                .with_source(error)
        })
    }

    pub(crate) fn to_record(&self, queue: &str, request_id: &str) -> Result<NewRecord> {
        NewRecord::new(key(queue, request_id)?, to_json(self))
    }
}

/// Where a request is kept.
pub(crate) fn key(queue: &str, request_id: &str) -> Result<Key> {
    Key::new(format!("REQUEST#{queue}"), request_id)
}

/// JSON of a type whose maps have text keys and whose values cannot refuse.
pub(crate) fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("the type has nothing that JSON has not")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_stable() {
        let mut request = LandRequest {
            verdict: Verdict::Duplicate {
                of: "r1".to_owned(),
                uri: "u".to_owned(),
            },
            uris: vec!["u".to_owned()],
            submitted_at: 1,
            finished: None,
        };
        let text = r#"{"verdict":"duplicate","duplicate_of":"r1","duplicate_uri":"u","uris":["u"],"submitted_at":1}"#;
        assert_eq!(to_json(&request), text.as_bytes());
        request.verdict = Verdict::Claimed;
        request.finished = Some(Finish {
            state: "landed".to_owned(),
            at: 2,
        });
        let text = r#"{"verdict":"claimed","uris":["u"],"submitted_at":1,"finished":{"state":"landed","at":2}}"#;
        assert_eq!(to_json(&request), text.as_bytes());
        assert_eq!(serde_json::from_str::<LandRequest>(text).unwrap(), request);
    }
}
