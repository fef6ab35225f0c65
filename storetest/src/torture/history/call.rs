//! What a client did and saw, and what a key may do.

use std::fmt::Debug;
use std::hash::Hash;

use changestore_core::Timestamp;

use crate::torture::Anomaly;

/// What one key does, one call after the other: the contract as a function.
pub(crate) trait Spec: Debug + Clone + Send + Sync + 'static {
    /// What is stored.
    type State: Debug + Clone + Default + Eq + Hash;
    /// What a call asks for.
    type Action: Debug + Clone + Send + Sync;
    /// What it is told.
    type Answer: Debug + Clone + PartialEq + Send + Sync;

    /// The states in which the key can be after the call: none if the call cannot have been told what it was told.
    ///
    /// There may be several, since the outcome of a call may be unknown, and so may be the time that the store had
    /// when it looked. With a mistake allowed there are also those that the mistake leads to.
    fn after(state: &Self::State, call: &Call<Self>, allowed: Option<Anomaly>) -> Vec<Self::State>;

    /// Whether the call has changed nothing, whatever was stored: its answer says so.
    ///
    /// A write that put there what was there already is no such call: a little later it would have changed something.
    fn has_no_effect(call: &Call<Self>) -> bool;

    /// Every mistake that can be told from the others, the likeliest first.
    const MISTAKES: &'static [Anomaly];
}

/// One call on one key.
#[derive(Debug, Clone)]
pub(crate) struct Call<S: Spec> {
    /// Who called.
    pub(crate) client: usize,
    /// When it began, in the order of all beginnings and ends.
    pub(crate) invoked: u64,
    /// When it ended; [`NEVER`] if its outcome is unknown: it may still happen.
    pub(crate) returned: u64,
    /// What the store's clock showed when it began.
    pub(crate) from: Timestamp,
    /// What the store's clock showed when it ended.
    pub(crate) to: Timestamp,
    pub(crate) action: S::Action,
    /// None if the outcome is unknown.
    pub(crate) answer: Option<S::Answer>,
}

/// The end of a call of unknown outcome.
pub(crate) const NEVER: u64 = u64::MAX;

impl<S: Spec> Call<S> {
    /// What the call can have taken for the time, as far as it decides whether this has expired. The clock may have been
    /// stepped while the call was under way.
    pub(crate) fn may_see_expired(&self, expire_at: Option<Timestamp>) -> (bool, bool) {
        match expire_at {
            None => (true, false),
            Some(expire_at) => (
                !expire_at.is_expired_at(self.from),
                expire_at.is_expired_at(self.to),
            ),
        }
    }
}
