//! Programs: what they are made of, and how they are drawn.

use changestore_core::Limit;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cancel::{CancelPoint, MOST_POLLS};
use crate::texts::CONFUSABLE;
use crate::torture::faults::Fault;

/// The longest program that is drawn.
const MOST_STEPS: usize = 48;

/// Texts for the parts of keys, and steps that refer to them by number, so that keys meet.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// For partitions, queues and URIs.
    pub(super) outer: Vec<&'static str>,
    /// For sort keys and requests.
    pub(super) inner: Vec<&'static str>,
    pub(super) steps: Vec<(Step, Option<Failure>)>,
}

/// How a program's calls fail, if they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failures<'a> {
    None,
    /// Calls are dropped, and have these faults of the network, if any.
    Some(&'a [Fault]),
}

/// What is done to a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Failure {
    /// Its future is dropped there.
    Dropped(CancelPoint),
    /// The network does that to its first request, or to one behind it.
    Fault { after: usize, fault: Fault },
}

/// A number of a text of the program's.
type Text = usize;

/// The key of a record or counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) partition: Text,
    pub(super) sort_key: Text,
}

/// The key of a claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimAt {
    pub(super) queue: Text,
    pub(super) uri: Text,
    pub(super) request: Text,
}

/// One call, or a step of the clock.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Get(At),
    Put {
        at: At,
        data: Vec<u8>,
        condition: On,
        /// From now, in milliseconds.
        expires_in: Option<i64>,
    },
    Delete {
        at: At,
        condition: On,
    },
    Increment {
        at: At,
        delta: i64,
        expires_in: Option<i64>,
    },
    Query {
        partition: Text,
        /// So many characters of that sort key.
        prefix: (Text, usize),
        descending: bool,
        limit: usize,
        start_after: Option<Text>,
    },
    Create {
        at: ClaimAt,
        metadata: &'static str,
    },
    GetByUri {
        queue: Text,
        uri: Text,
    },
    UpdateMetadata {
        at: ClaimAt,
        metadata: &'static str,
        old: On,
        new: u32,
    },
    /// Moves the clock, in milliseconds.
    Clock(i64),
}

/// What a condition is on.
#[derive(Debug, Clone, Copy)]
pub(super) enum On {
    Nothing,
    Absence,
    /// The version that is there.
    ItsVersion,
    Version(u32),
    /// The etag that a write of this key had, the last write being 0.
    EtagOfWrite(usize),
    NobodysEtag,
}

/// JSON that careless stores change.
const METADATA: [&str; 8] = [
    "",
    "{}",
    r#"{ "b":1,"a": 2 }"#,
    r#"{"a":1,"a":2}"#,
    "1.5777777777770001",
    "123456789012345678901234567890",
    r#""\u0000""#,
    r#""é\ud83d\ude00""#,
];

const OUTER: usize = 2;
const INNER: usize = 5;

/// One of so many calls fails: programs in which many did could have had any outcome.
const FAILURES: f64 = 0.1;

pub(super) fn programs(failures: Failures<'_>) -> impl Strategy<Value = Program> + use<> {
    let parts = (
        vec(select(CONFUSABLE), OUTER),
        vec(select(CONFUSABLE), INNER),
        vec((step(failures), failure(failures)), 1..=MOST_STEPS),
    );
    parts.prop_map(|(outer, inner, steps)| Program {
        outer,
        inner,
        steps,
    })
}

fn failure(failures: Failures<'_>) -> BoxedStrategy<Option<Failure>> {
    let dropped = (0..MOST_POLLS, any::<bool>())
        .prop_map(|(polls, when_woken)| Failure::Dropped(CancelPoint { polls, when_woken }));
    match failures {
        Failures::None => Just(None).boxed(),
        Failures::Some([]) => option::weighted(FAILURES, dropped).boxed(),
        Failures::Some(faults) => {
            let fault = (0..2usize, select(faults.to_vec()))
                .prop_map(|(after, fault)| Failure::Fault { after, fault });
            option::weighted(FAILURES, prop_oneof![dropped, fault]).boxed()
        }
    }
}

fn step(failures: Failures<'_>) -> impl Strategy<Value = Step> + use<> {
    prop_oneof![
        3 => at().prop_map(Step::Get),
        6 => put(),
        3 => (at(), condition_of_a_delete())
            .prop_map(|(at, condition)| Step::Delete { at, condition }),
        4 => (at(), delta(), expires_in())
            .prop_map(|(at, delta, expires_in)| Step::Increment { at, delta, expires_in }),
        3 => query(),
        2 => (claim_at(), select(&METADATA)).prop_map(|(at, metadata)| Step::Create { at, metadata }),
        2 => (0..OUTER, 0..OUTER).prop_map(|(queue, uri)| Step::GetByUri { queue, uri }),
        3 => (claim_at(), select(&METADATA), on_a_version(), 0..5u32)
            .prop_map(|(at, metadata, old, new)| Step::UpdateMetadata { at, metadata, old, new }),
        2 => clock(failures).prop_map(Step::Clock),
    ]
}

fn at() -> impl Strategy<Value = At> {
    (0..OUTER, 0..INNER).prop_map(|(partition, sort_key)| At {
        partition,
        sort_key,
    })
}

fn claim_at() -> impl Strategy<Value = ClaimAt> {
    (0..OUTER, 0..OUTER, 0..INNER).prop_map(|(queue, uri, request)| ClaimAt {
        queue,
        uri,
        request,
    })
}

fn put() -> impl Strategy<Value = Step> {
    let parts = (at(), vec(any::<u8>(), 0..6), condition(), expires_in());
    parts.prop_map(|(at, data, condition, expires_in)| Step::Put {
        at,
        data,
        condition,
        expires_in,
    })
}

fn query() -> impl Strategy<Value = Step> {
    let parts = (
        0..OUTER,
        (0..INNER, 0..3usize),
        any::<bool>(),
        0..4usize,
        option::of(0..INNER),
    );
    parts.prop_map(
        |(partition, prefix, descending, limit, start_after)| Step::Query {
            partition,
            prefix,
            descending,
            limit,
            start_after,
        },
    )
}

fn condition() -> impl Strategy<Value = On> {
    prop_oneof![
        3 => Just(On::Nothing),
        2 => Just(On::Absence),
        3 => on_a_version(),
        3 => (0..3usize).prop_map(On::EtagOfWrite),
        1 => Just(On::NobodysEtag),
    ]
}

/// Now and then one that no delete can ask for.
fn condition_of_a_delete() -> impl Strategy<Value = On> {
    prop_oneof![4 => Just(On::Nothing), 6 => condition()]
}

fn on_a_version() -> impl Strategy<Value = On> {
    prop_oneof![Just(On::ItsVersion), (0..5u32).prop_map(On::Version)]
}

fn expires_in() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![3 => Just(None), 1 => (-3..50i64).prop_map(Some)]
}

fn delta() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => -3..10i64,
        1 => Just(0),
        1 => prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(i64::MAX - 5)],
    ]
}

/// Mostly a little forward; back by less than garbage is kept for; and forward until it may be collected, but not where
/// calls fail: one that comes late has an earlier time, at which nothing may have been.
fn clock(failures: Failures<'_>) -> impl Strategy<Value = i64> + use<> {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let garbage = u32::from(failures == Failures::None);
    prop_oneof![6 => 1..60i64, 2 => -40..0i64, garbage => Just(DAY + 1)]
}

/// So many characters of the text, cut to what the limit takes.
pub(super) fn prefix(text: &str, chars: usize, limit: Limit) -> &str {
    let end = text
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at);
    &text[..text.floor_char_boundary(end.min(limit.max_bytes()))]
}
