//! How often a call may fail when nothing is in its way any more.

use std::time::{Duration, Instant};

use changestore_core::{Error, Result};

use super::history::journal::is_an_answer;

/// With so many calls a store must be well again. A connection that stays broken has used them up before
/// anybody's keep-alive notices.
const MOST: usize = 4;

/// What has taken so long may be a machine that is slow, where connecting alone takes longer than a call may. That is no
/// failure, until there are so many …
const SLOW: Duration = Duration::from_secs(2);
/// … for a store that has lost its way hangs, too.
const MOST_SLOW: usize = 12;

/// The tries of one call.
#[derive(Debug, Default)]
pub(super) struct Tries {
    failed: usize,
    slow: usize,
}

impl Tries {
    /// Whether the call may be tried again, after one that began at that time has failed.
    pub(super) fn has_another(&mut self, begun: Instant) -> bool {
        self.count(begun.elapsed())
    }

    fn count(&mut self, taken: Duration) -> bool {
        if taken < SLOW {
            self.failed += 1;
        } else {
            self.slow += 1;
        }
        self.failed < MOST && self.slow < MOST_SLOW
    }
}

/// Why a call fails again and again, if it is not for the contract's reasons.
pub(super) async fn sickness<T>(mut call: impl AsyncFnMut() -> Result<T>) -> Option<Error> {
    let mut tries = Tries::default();
    loop {
        let begun = Instant::now();
        let error = call().await.err().filter(|error| !is_an_answer(error))?;
        if !tries.has_another(begun) {
            return Some(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_end_whether_they_are_slow_or_not() {
        let count = |taken: &[Duration]| {
            let mut tries = Tries::default();
            let all = taken.iter().cycle();
            all.take_while(|taken| tries.count(**taken)).count() + 1
        };
        assert_eq!(count(&[Duration::ZERO]), 4);
        assert_eq!(count(&[SLOW]), 12);
        assert_eq!(count(&[SLOW, Duration::ZERO]), 8);
    }
}
