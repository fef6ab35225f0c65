//! From the two numbers in the reply to a write to what the write did. [`super::statements`] says what
//! they mean.

use changestore_core::Version;
use sqlx::mysql::MySqlQueryResult;

use super::statements::VERSION_BITS;
use crate::flow::judge::{Effect, Standing};

/// An INSERT that found a row and changed it.
const CHANGED: u64 = 2;

/// The number that the statement has set.
fn number(reply: &MySqlQueryResult) -> i64 {
    reply.last_insert_id().cast_signed()
}

/// The refusing claim, of a number below 0.
fn refused_by_claim(number: i64) -> Effect {
    let version = number.checked_neg().map(Version::try_from);
    Effect::Nothing(match version {
        Some(Ok(version)) => Standing::Claim(version),
        _ => Standing::Damaged,
    })
}

/// The refusing record or counter, of a number below 0.
fn refused_by_document(number: i64) -> Effect {
    let version = number.checked_neg().map(Version::try_from);
    Effect::Nothing(match version {
        None => Standing::Counter,
        Some(Ok(version)) if version < Version::MAX => Standing::Record(version),
        Some(_) => Standing::Damaged,
    })
}

/// Of the statement that creates a claim.
pub(super) fn of_create(reply: &MySqlQueryResult) -> Effect {
    match number(reply) {
        0 => Effect::Applied(Version::FIRST.as_i64()),
        refused => refused_by_claim(refused),
    }
}

/// Of the statement that creates several claims; none if the bits are not those of so many.
pub(super) fn of_create_all(reply: &MySqlQueryResult, claims: usize) -> Option<Vec<Effect>> {
    let bits = reply.last_insert_id();
    if bits.checked_ilog2() != u32::try_from(claims).ok() {
        return None;
    }
    let was_there = |place: usize| bits >> (claims - 1 - place) & 1 == 1;
    let effects = (0..claims).map(|place| {
        if was_there(place) {
            // Which version it has is in no bit, and nobody asks.
            Effect::Nothing(Standing::Claim(Version::FIRST))
        } else {
            Effect::Applied(Version::FIRST.as_i64())
        }
    });
    Some(effects.collect())
}

/// Of the statement that updates a claim.
pub(super) fn of_update(reply: &MySqlQueryResult) -> Effect {
    match number(reply) {
        0 => Effect::Nothing(Standing::Absent),
        version @ 1.. => Effect::Applied(version),
        refused => refused_by_claim(refused),
    }
}

/// Of the put that inserts what it does not find.
pub(super) fn of_put(reply: &MySqlQueryResult) -> Effect {
    match number(reply) {
        0 => Effect::Applied(Version::FIRST.as_i64()),
        version @ 1.. => Effect::Applied(version),
        refused => refused_by_document(refused),
    }
}

/// Of the statement that does several puts: none for one that did nothing; none at all if the bits are not
/// those of so many.
pub(super) fn of_put_all(reply: &MySqlQueryResult, puts: usize) -> Option<Vec<Option<Effect>>> {
    let bits = reply.last_insert_id();
    if bits.checked_ilog2() != u32::try_from(puts * VERSION_BITS).ok() {
        return None;
    }
    let version = |place: usize| {
        let version = bits >> ((puts - 1 - place) * VERSION_BITS) & ((1 << VERSION_BITS) - 1);
        version.cast_signed()
    };
    let effects = (0..puts).map(|place| match version(place) {
        0 => None,
        version => Some(Effect::Applied(version)),
    });
    Some(effects.collect())
}

/// Of the put that replaces what it finds.
pub(super) fn of_replace(reply: &MySqlQueryResult) -> Effect {
    match number(reply) {
        0 => Effect::Nothing(Standing::Absent),
        version @ 1.. => Effect::Applied(version),
        refused => refused_by_document(refused),
    }
}

/// Of an increment by `delta`.
pub(super) fn of_increment(reply: &MySqlQueryResult, delta: i64) -> Effect {
    match (reply.rows_affected(), number(reply)) {
        (CHANGED, value) => Effect::Applied(value),
        (_, 0) => Effect::Applied(delta),
        (_, refused) => refused_by_document(refused),
    }
}
