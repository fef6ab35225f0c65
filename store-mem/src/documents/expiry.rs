//! What expires next: one entry per expiring record, so nothing is searched to find the garbage.

use std::collections::BTreeSet;

use changestore_core::{Key, Timestamp};
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(super) struct Expiries {
    // Locked behind a partition's lock and never the other way round.
    due: Mutex<BTreeSet<(Timestamp, Key)>>,
}

impl Expiries {
    /// Replaces the entry of a record by its new one.
    pub(super) fn replace(&self, key: &Key, old: Option<Timestamp>, new: Option<Timestamp>) {
        if old == new {
            return;
        }
        let mut due = self.due.lock();
        if let Some(old) = old {
            due.remove(&(old, key.clone()));
        }
        if let Some(new) = new {
            due.insert((new, key.clone()));
        }
    }

    /// Takes out at most so many keys whose record expired long enough ago.
    pub(super) fn take_due(&self, now: Timestamp, most: usize) -> Vec<Key> {
        let mut due = self.due.lock();
        let mut keys = Vec::new();
        while keys.len() < most
            && due
                .first()
                .is_some_and(|(expire_at, _)| expire_at.is_garbage_at(now))
        {
            keys.extend(due.pop_first().map(|(_, key)| key));
        }
        keys
    }

    pub(super) fn has_due(&self, now: Timestamp) -> bool {
        self.due
            .lock()
            .first()
            .is_some_and(|(expire_at, _)| expire_at.is_garbage_at(now))
    }
}
