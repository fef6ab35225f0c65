//! Is there an order of the calls that explains what each of them was told?
//!
//! The algorithm is Wing's and Gong's with Lowe's memory: go through the orders that keep what was over before
//! something else began, the longest first, and never look at the same state with the same calls behind it twice. Calls
//! that cannot change anything are taken as soon as they fit: there is no later time at which they would fit and not now.
//! Calls of unknown outcome, and mistakes where one kind is allowed, are taken where nothing else fits, and as few of
//! them as possible.
//! A key that is looked at alone needs no other key's calls, which keeps the histories short.
//!
//! It is our own because no checker at hand has calls of unknown outcome, which may happen at any later time or never,
//! and says how far it came: `todc-utils` has complete histories and answers yes or no, stateright's tester keeps no
//! memory of where it was.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::call::{Call, NEVER, Spec};
use crate::torture::Anomaly;

/// More states than any history of ours has needed a hundredth of.
const MOST_STATES: usize = 150_000;

/// What the checker found.
#[derive(Debug)]
pub(crate) enum Verdict<S: Spec> {
    /// There is an order.
    Linearizable,
    /// There is none.
    Not(Stuck<S>),
    /// It gave up.
    Undecided,
}

/// How far the longest order came.
#[derive(Debug)]
pub(crate) struct Stuck<S: Spec> {
    /// The calls that it explains, in its order.
    pub(crate) explained: Vec<usize>,
    /// What is stored then.
    pub(crate) state: S::State,
    /// The calls of which one should be next, and none can be.
    pub(crate) next: Vec<usize>,
}

/// Looks for an order of these calls, which are sorted by their beginnings. One kind of mistake may be allowed.
pub(crate) fn check<S: Spec>(calls: &[Call<S>], allowed: Option<Anomaly>) -> Verdict<S> {
    debug_assert!(calls.is_sorted_by_key(|call| call.invoked));
    Search {
        calls,
        allowed,
        seen: HashSet::new(),
        steps: Vec::new(),
        open: BinaryHeap::new(),
        places: Vec::new(),
    }
    .run()
}

/// Which calls are behind.
type Done = Box<[u64]>;

struct Search<'a, S: Spec> {
    calls: &'a [Call<S>],
    allowed: Option<Anomaly>,
    seen: HashSet<(Done, S::State)>,
    /// Every step of every order that was tried: the call, and the step before it.
    steps: Vec<(usize, Option<usize>)>,
    /// The places to go on from: how many calls that ended are behind, for how little, and the place's number.
    open: BinaryHeap<(usize, Reverse<usize>, usize)>,
    places: Vec<Option<Place<S::State>>>,
}

/// A place in the search.
#[derive(Clone)]
struct Place<T> {
    done: Done,
    /// How many of the calls that ended are behind.
    ended: usize,
    /// How many of the others are, and how many mistakes were made.
    cost: usize,
    /// The first call that is not behind.
    first: usize,
    state: T,
    step: Option<usize>,
}

impl<S: Spec> Search<'_, S> {
    fn run(mut self) -> Verdict<S> {
        let to_end = self
            .calls
            .iter()
            .filter(|call| call.returned != NEVER)
            .count();
        let mut farthest: Option<Place<S::State>> = None;
        self.go_on_from(Place {
            done: vec![0; self.calls.len().div_ceil(64)].into(),
            ended: 0,
            cost: 0,
            first: 0,
            state: S::State::default(),
            step: None,
        });
        while let Some((_, _, number)) = self.open.pop() {
            let mut place = self.places[number].take().expect("each is taken once");
            let next = self.take_what_changes_nothing(&mut place);
            if place.ended == to_end {
                // What may happen at any time may happen now.
                return Verdict::Linearizable;
            }
            if !self.seen.insert((place.done.clone(), place.state.clone())) {
                continue;
            }
            if self.seen.len() > MOST_STATES {
                return Verdict::Undecided;
            }
            if farthest.as_ref().is_none_or(|far| far.ended < place.ended) {
                farthest = Some(place.clone());
            }
            // Of equals the last is tried first.
            for call in next.into_iter().rev() {
                let right = S::after(&place.state, &self.calls[call], None);
                let mistaken = match self.allowed {
                    Some(_) => S::after(&place.state, &self.calls[call], self.allowed),
                    None => Vec::new(),
                };
                let mistaken = mistaken.iter().filter(|state| !right.contains(state));
                let mistaken = mistaken.map(|state| (state, 1));
                for (state, cost) in mistaken.chain(right.iter().map(|state| (state, 0))) {
                    if *state != place.state || self.calls[call].returned != NEVER {
                        let mut further = place.clone();
                        further.state = state.clone();
                        further.cost += cost;
                        self.take(&mut further, call);
                        self.go_on_from(further);
                    }
                }
            }
        }
        let mut far = farthest.expect("the beginning was looked at");
        let next = self.take_what_changes_nothing(&mut far);
        Verdict::Not(Stuck {
            explained: self.path(far.step),
            state: far.state,
            next,
        })
    }

    /// Takes every call that fits and can change nothing; returns those that could be next.
    fn take_what_changes_nothing(&mut self, place: &mut Place<S::State>) -> Vec<usize> {
        loop {
            let next = self.could_be_next(place);
            let fits = next.iter().copied().find(|call| {
                let call = &self.calls[*call];
                S::has_no_effect(call)
                    && !S::after(&place.state, call, None).is_empty()
                    // A mistake might change something.
                    && (self.allowed.is_none()
                        || S::after(&place.state, call, self.allowed)
                            .iter()
                            .all(|state| *state == place.state))
            });
            match fits {
                Some(call) => self.take(place, call),
                None => return next,
            }
        }
    }

    /// The calls that no other call, which is not behind either, was over before.
    fn could_be_next(&self, place: &Place<S::State>) -> Vec<usize> {
        let mut next = Vec::new();
        let mut first_end = NEVER;
        for (number, call) in self.calls.iter().enumerate().skip(place.first) {
            if call.invoked > first_end {
                break;
            }
            if !is_done(&place.done, number) {
                next.push(number);
                first_end = first_end.min(call.returned);
            }
        }
        next
    }

    fn take(&mut self, place: &mut Place<S::State>, call: usize) {
        place.done[call / 64] |= 1 << (call % 64);
        let is_ended = self.calls[call].returned != NEVER;
        place.ended += usize::from(is_ended);
        place.cost += usize::from(!is_ended);
        while place.first < self.calls.len() && is_done(&place.done, place.first) {
            place.first += 1;
        }
        self.steps.push((call, place.step));
        place.step = Some(self.steps.len() - 1);
    }

    fn go_on_from(&mut self, place: Place<S::State>) {
        let number = self.places.len();
        self.open.push((place.ended, Reverse(place.cost), number));
        self.places.push(Some(place));
    }

    fn path(&self, last: Option<usize>) -> Vec<usize> {
        let before = |step: &usize| self.steps[*step].1;
        let mut path: Vec<_> = std::iter::successors(last, before)
            .map(|step| self.steps[step].0)
            .collect();
        path.reverse();
        path
    }
}

fn is_done(done: &Done, call: usize) -> bool {
    done[call / 64] & 1 << (call % 64) != 0
}
