//! What becomes of one event: decided anew, told again, or refused.

use std::fmt;

use changestore_core::{Result, find_duplicate, limits};

use super::event::{Event, Kind};
use super::intent::Decision;
use super::request::{Finish, LandRequest, Verdict, to_json};
use super::snapshot::Snapshot;

/// Room in a record for how its request finishes, and in an intent for the names around it.
const ROOM_BYTES: usize = 4 * 1024;

/// The answer to one event, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) said: Said,
    /// Whether the event had been handled before, so that nothing was written for it.
    pub(crate) redelivered: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// To a submit.
    Verdict(Verdict),
    /// To a finish.
    Finished { state: String },
}

/// Why a well-formed event is applied in no part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A finish of a request that was never submitted.
    NotSubmitted { queue: String, request_id: String },
    /// The request id is taken by a submit of other changes.
    OtherUris { request_id: String },
    /// The request has finished already, otherwise.
    OtherState {
        request_id: String,
        recorded: String,
        state: String,
    },
    /// More changes than one record can hold.
    TooLarge { actual: usize, limit: usize },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSubmitted { queue, request_id } => write!(
                f,
                "finish of a request that was not submitted: {request_id:?} in queue {queue:?}"
            ),
            Self::OtherUris { request_id } => write!(
                f,
                "conflict: request {request_id:?} was submitted before with another list of uris"
            ),
            Self::OtherState {
                request_id,
                recorded,
                state,
            } => write!(
                f,
                "conflict: request {request_id:?} has finished as {recorded:?} before, not as {state:?}"
            ),
            Self::TooLarge { actual, limit } => write!(
                f,
                "uris are too large: the request's record takes {actual} bytes of data, at most {limit} are \
                 allowed (of {} bytes, {ROOM_BYTES} are kept for its finish)",
                limits::DATA.max_bytes()
            ),
        }
    }
}

/// An event that is not refused: the answer, and what there is to write.
pub(crate) type Decided = std::result::Result<(Answer, Option<Decision>), Refusal>;

/// Decides one event against what has been decided before it. Writes nothing.
pub(crate) async fn decide(snapshot: &Snapshot, event: &Event) -> Result<Decided> {
    match &event.kind {
        Kind::Submit { uris } => submit(snapshot, event, uris).await,
        Kind::Finish { state } => Ok(finish(snapshot, event, state)),
    }
}

async fn submit(snapshot: &Snapshot, event: &Event, uris: &[String]) -> Result<Decided> {
    let request_id = &event.request_id;
    if let Some(request) = snapshot.request(request_id) {
        if request.uris != uris {
            let request_id = request_id.clone();
            return Ok(Err(Refusal::OtherUris { request_id }));
        }
        // A verdict falls once: what has become of the other requests since does not matter.
        let said = Said::Verdict(request.verdict.clone());
        return Ok(Ok((again(said), None)));
    }
    let duplicate = find_duplicate(snapshot, snapshot, &event.queue, request_id, uris).await?;
    let verdict = match duplicate {
        None => Verdict::Claimed,
        Some(duplicate) => Verdict::Duplicate {
            of: duplicate.request_id().to_owned(),
            uri: duplicate.uri().to_owned(),
        },
    };
    let request = LandRequest {
        verdict: verdict.clone(),
        uris: uris.to_vec(),
        submitted_at: event.at.as_millis(),
        finished: None,
    };
    let (actual, limit) = (
        to_json(&request).len(),
        limits::DATA.max_bytes() - ROOM_BYTES,
    );
    if actual > limit {
        return Ok(Err(Refusal::TooLarge { actual, limit }));
    }
    let decision = Decision::Submitted {
        request_id: request_id.clone(),
        request,
    };
    Ok(Ok((first(Said::Verdict(verdict)), Some(decision))))
}

fn finish(snapshot: &Snapshot, event: &Event, state: &str) -> Decided {
    let request_id = event.request_id.clone();
    let said = Said::Finished {
        state: state.to_owned(),
    };
    match snapshot.request(&request_id) {
        None => Err(Refusal::NotSubmitted {
            queue: event.queue.clone(),
            request_id,
        }),
        Some(LandRequest {
            finished: Some(finished),
            ..
        }) if finished.state == state => Ok((again(said), None)),
        Some(LandRequest {
            finished: Some(finished),
            ..
        }) => Err(Refusal::OtherState {
            request_id,
            recorded: finished.state.clone(),
            state: state.to_owned(),
        }),
        Some(LandRequest { finished: None, .. }) => {
            let finish = Finish {
                state: state.to_owned(),
                at: event.at.as_millis(),
            };
            let decision = Decision::Finished { request_id, finish };
            Ok((first(said), Some(decision)))
        }
    }
}

fn first(said: Said) -> Answer {
    Answer {
        said,
        redelivered: false,
    }
}

fn again(said: Said) -> Answer {
    Answer {
        said,
        redelivered: true,
    }
}
