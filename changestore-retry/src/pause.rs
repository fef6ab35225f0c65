//! Pauses between requests.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// A pause that doubles with each time before, and is somewhere between its half and its whole.
#[derive(Debug)]
pub(crate) struct Pause {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

/// After a failure.
pub(crate) const FAILURE: Pause = Pause {
    first: Duration::from_millis(25),
    longest: Duration::from_secs(2),
};

/// After somebody else was faster: about a round trip.
pub(crate) const OVERTAKEN: Pause = Pause {
    first: Duration::from_millis(1),
    longest: Duration::from_millis(50),
};

impl Pause {
    pub(crate) fn after(&self, times: u32) -> Duration {
        let whole = self
            .first
            .saturating_mul(1 << times.min(16))
            .min(self.longest);
        // The keys of a new `RandomState` are random, and with them the hash of anything.
        let percent = u32::try_from(RandomState::new().hash_one(times) % 51).unwrap_or(0);
        whole * (50 + percent) / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_and_stay() {
        let Pause { first, longest } = FAILURE;
        let pauses: Vec<_> = (0..40).map(|times| FAILURE.after(times)).collect();
        assert!(pauses[0] <= first && pauses[0] >= first / 2);
        assert!(
            pauses[8..]
                .iter()
                .all(|pause| (longest / 2..=longest).contains(pause))
        );
    }
}
