//! Waiting for a lock that others hold for a moment.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// The first pause. A transaction of another writer takes about as long.
const FIRST: Duration = Duration::from_millis(1);
/// The longest. Short, because the lock goes to whoever asks at the right moment and not to whoever
/// waited longest.
const LONGEST: Duration = Duration::from_millis(10);

/// The same between two attempts to reach a server.
#[cfg(any(feature = "postgres", feature = "mysql"))]
const BETWEEN_CONNECTS: (Duration, Duration) =
    (Duration::from_millis(20), Duration::from_millis(500));

/// Pauses that grow, each cut at random so that two who wait do not keep meeting.
#[derive(Debug)]
pub(crate) struct Backoff {
    attempts: u32,
    first: Duration,
    longest: Duration,
}

/// Between two attempts at a lock.
impl Default for Backoff {
    fn default() -> Self {
        Self {
            attempts: 0,
            first: FIRST,
            longest: LONGEST,
        }
    }
}

impl Backoff {
    /// Between two attempts to reach a server, which may just be starting again.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn between_connects() -> Self {
        let (first, longest) = BETWEEN_CONNECTS;
        Self {
            first,
            longest,
            ..Self::default()
        }
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.next()).await;
    }

    fn next(&mut self) -> Duration {
        let longest = self
            .first
            .saturating_mul(1 << self.attempts.min(8))
            .min(self.longest);
        self.attempts = self.attempts.saturating_add(1);
        // The keys of a new `RandomState` are random, and with them the hash of anything.
        let percent = u32::try_from(RandomState::new().hash_one(self.attempts) % 51).unwrap_or(0);
        longest * (50 + percent) / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_stay() {
        let mut backoff = Backoff::default();
        let pauses: Vec<Duration> = (0..40).map(|_| backoff.next()).collect();
        assert!(pauses[0] <= FIRST && pauses[0] >= FIRST / 2);
        assert!(
            pauses[8..]
                .iter()
                .all(|pause| (LONGEST / 2..=LONGEST).contains(pause))
        );
    }
}
