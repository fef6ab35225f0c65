//! What can be stored by now: one world, until the outcome of a call is unknown.
//!
//! A call whose outcome nobody knows may have happened, may happen at any later time, or never. So there is a model for
//! each; what the store tells later leaves those that tell the same, and if none is left the store is wrong. A world
//! makes up its mind about such a call only when another call could see it, so that there are few of them.

use std::collections::HashMap;

use changestore_core::{
    ChangeKey, ChangeStoreExt as _, DocumentStoreExt as _, Etag, Key, ManualClock, Timestamp,
    Version,
};
use futures::FutureExt as _;
use store_mem::MemStore;

use super::call::{Action, Call};
use super::told::Answer;

/// More than any program of ours needs; in so many everything may be right.
const MOST: usize = 512;

/// The worlds that are possible.
pub(super) struct Worlds {
    /// The models' clock, which is set for each call.
    clock: ManualClock,
    /// All that the store's clock has shown.
    times: Vec<Timestamp>,
    possible: Vec<World>,
}

/// One of them.
struct World {
    model: MemStore,
    /// The writes that had an effect, in their order.
    done: Vec<Call>,
    /// The writes that may still happen, each with the number of the time at which it was begun.
    pending: Vec<(Call, usize)>,
    /// Which put, by its number, has which etag of the model's.
    model_etags: HashMap<usize, Etag>,
    /// Which put has which etag of the store's, and which etag is which put's.
    store_etags: HashMap<usize, Etag>,
    puts: HashMap<Etag, usize>,
}

impl Worlds {
    pub(super) fn new(now: Timestamp) -> Self {
        let clock = ManualClock::new(now);
        let possible = vec![World::new(&clock)];
        Self {
            clock,
            times: vec![now],
            possible,
        }
    }

    /// The store's clock shows this from now on.
    pub(super) fn clock_shows(&mut self, now: Timestamp) {
        self.times.push(now);
    }

    /// Whether there are so many that nothing can be told any more.
    pub(super) fn are_too_many(&self) -> bool {
        self.possible.len() > MOST
    }

    /// The store told that: leaves the worlds in which it is right. If there is none, what they tell instead.
    pub(super) fn are_told(&mut self, call: &Call, answer: &Answer) -> Result<(), Vec<String>> {
        self.split_before(call);
        let mut instead = Vec::new();
        let clock = &self.clock;
        self.possible.retain_mut(|world| {
            let right = world.call(clock, call);
            if right.told != answer.told {
                instead.push(format!("{:?}", right.told));
                return false;
            }
            let is_paired = world.pair(&answer.etags, &right.etags);
            if !is_paired {
                instead.push(format!("{:?}, with the etags of other writes", right.told));
            }
            is_paired
        });
        if self.possible.is_empty() {
            instead.dedup();
            return Err(instead);
        }
        Ok(())
    }

    /// Nobody knows what came of the call.
    pub(super) fn are_not_told(&mut self, call: &Call) {
        if call.is_write() {
            let begun = self.times.len() - 1;
            for world in &mut self.possible {
                world.pending.push((call.clone(), begun));
            }
        }
    }

    /// The version of what is live at the key, in one of the worlds.
    pub(super) fn version(&self, key: &Key, now: Timestamp) -> Option<Version> {
        self.clock.set(now);
        let live = self.possible[0].model.find(key).now_or_never();
        let live = live.expect("memory does not wait");
        Some(live.expect("memory does not fail")?.version)
    }

    /// The version of the claim, in one of the worlds.
    pub(super) fn version_of_claim(&self, key: &ChangeKey) -> Option<Version> {
        let claim = self.possible[0].model.find_claim(key).now_or_never();
        let claim = claim.expect("memory does not wait");
        Some(claim.expect("memory does not fail")?.version)
    }

    /// Whatever the call could see of pending calls has happened in some worlds, and has not in others.
    fn split_before(&mut self, call: &Call) {
        let mut number = 0;
        while number < self.possible.len() && !self.are_too_many() {
            let world = &self.possible[number];
            let could_happen =
                (0..world.pending.len()).filter(|it| world.pending[*it].0.meets(call));
            let mut further = Vec::new();
            for late in could_happen {
                let (late_call, begun) = &world.pending[late];
                let mut told = Vec::new();
                // It may take the time that it was begun at for now, or any later one.
                for now in &self.times[*begun..] {
                    let mut split = world.split(&self.clock);
                    split.pending.remove(late);
                    let late_call = Call {
                        now: *now,
                        ..late_call.clone()
                    };
                    let answer = split.call(&self.clock, &late_call).told;
                    // One that changes nothing may as well come later.
                    if !answer.is_refusal() && !told.contains(&answer) {
                        told.push(answer);
                        further.push(split);
                    }
                }
            }
            self.possible.extend(further);
            number += 1;
        }
    }
}

impl World {
    fn new(clock: &ManualClock) -> Self {
        Self {
            model: MemStore::with_clock(clock.clone()),
            done: Vec::new(),
            pending: Vec::new(),
            model_etags: HashMap::new(),
            store_etags: HashMap::new(),
            puts: HashMap::new(),
        }
    }

    /// Another world with the same past.
    fn split(&self, clock: &ManualClock) -> Self {
        let mut split = Self {
            pending: self.pending.clone(),
            store_etags: self.store_etags.clone(),
            puts: self.puts.clone(),
            ..Self::new(clock)
        };
        for call in &self.done {
            split.call(clock, call);
        }
        split
    }

    fn call(&mut self, clock: &ManualClock, call: &Call) -> Answer {
        clock.set(call.now);
        // An etag that is no put's of this world is nobody's.
        let etag = |its: &Etag| {
            let put = self.puts.get(its);
            put.and_then(|put| self.model_etags.get(put))
                .unwrap_or(its)
                .clone()
        };
        let answer = call.ask(&self.model, &self.model, etag).now_or_never();
        let answer = answer.expect("memory does not wait");
        let answer = answer.expect("nothing is in its way");
        if call.is_write() && !answer.told.is_refusal() {
            self.done.push(call.clone());
            if let (Action::Put(..), [etag]) = (&call.action, answer.etags.as_slice()) {
                self.model_etags.insert(call.number, etag.clone());
            }
        }
        answer
    }

    /// Takes these etags for the same puts', one for one; false if one of them is another put's.
    fn pair(&mut self, store: &[Etag], model: &[Etag]) -> bool {
        store.iter().zip(model).all(|(store, model)| {
            let put = self.model_etags.iter().find(|(_, etag)| *etag == model);
            let put = *put.expect("each is some put's").0;
            let its = self.store_etags.entry(put).or_insert_with(|| store.clone());
            *its == *store && *self.puts.entry(store.clone()).or_insert(put) == put
        })
    }
}
