//! Writers of one key in this process take turns: those that read and then replace what they read would otherwise
//! refuse each other, over and over. Other processes are met with conditions and pauses.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// The keys at which somebody writes or waits to.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<Bytes, Arc<Queue<()>>>>);

/// A turn, over when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    // Given up before the place in the queue.
    _guard: OwnedMutexGuard<()>,
    _place: Place<'a>,
}

/// A place in a key's queue, given up when it is dropped; the last takes the queue with it.
#[derive(Debug)]
struct Place<'a> {
    turns: &'a Turns,
    key: &'a Bytes,
}

impl Turns {
    /// Waits for a turn at this key, in the order of the calls.
    pub(crate) async fn turn<'a>(&'a self, key: &'a Bytes) -> Turn<'a> {
        let queue = Arc::clone(self.0.lock().entry(key.clone()).or_default());
        let place = Place { turns: self, key };
        Turn {
            _guard: queue.lock_owned().await,
            _place: place,
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut queues = self.turns.0.lock();
        // Whoever writes or waits has it, too; and nobody comes to it while this is locked.
        if queues
            .get(self.key)
            .is_some_and(|queue| Arc::strong_count(queue) == 1)
        {
            queues.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_after_the_other_and_nothing_is_left() {
        let turns = Turns::default();
        let (a, b) = (Bytes::from("a"), Bytes::from("b"));
        let first = turns.turn(&a).await;
        let _other_key = turns.turn(&b).await;
        let mut second = Box::pin(turns.turn(&a));
        let mut third = Box::pin(turns.turn(&a));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        // Who gives up waiting is in nobody's way.
        drop(second);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        drop(third.await);
        assert!(!turns.0.lock().contains_key(&a));
        assert!(turns.0.lock().contains_key(&b));
    }
}
