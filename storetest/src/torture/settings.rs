//! How long, and from which seed.

use std::env;
use std::time::{Duration, Instant};

/// How long a test goes on, and what it draws its calls from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The same seed draws the same calls. How the calls of concurrent clients interleave is the machine's choice.
    pub seed: u64,
    /// No new round begins when this has passed. One round is always run.
    pub time: Duration,
}

impl Settings {
    /// The environment variable with the seed, a decimal number.
    pub const SEED_VARIABLE: &str = "STORETEST_SEED";

    /// The environment variable with the seconds that each test goes on for.
    pub const SECONDS_VARIABLE: &str = "STORETEST_SECONDS";

    /// How long a test goes on unless somebody asks for more.
    const SHORT: Duration = Duration::from_secs(2);

    /// One round from this seed.
    #[must_use]
    pub const fn one_round(seed: u64) -> Self {
        Self {
            seed,
            time: Duration::ZERO,
        }
    }

    /// As the environment says; without it two seconds, from a seed that nobody has had.
    ///
    /// # Panics
    /// If a variable is set to something else than a number.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            seed: number(Self::SEED_VARIABLE).unwrap_or_else(|| fastrand::u64(..)),
            time: number(Self::SECONDS_VARIABLE).map_or(Self::SHORT, Duration::from_secs),
        }
    }

    /// A seed for each round: the first is the seed itself, so that the seed of a round that went wrong is the first
    /// round's when it is run again.
    pub(super) fn rounds(self) -> impl Iterator<Item = u64> {
        let began = Instant::now();
        let mut seeds = fastrand::Rng::with_seed(self.seed);
        let later =
            std::iter::from_fn(move || (began.elapsed() < self.time).then(|| seeds.u64(..)));
        std::iter::once(self.seed).chain(later)
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_has_the_seed_and_without_time_it_is_the_only_one() {
        let rounds: Vec<_> = Settings::one_round(7).rounds().collect();
        assert_eq!(rounds, [7]);
    }

    #[test]
    fn the_same_seed_draws_the_same_rounds() {
        let settings = Settings {
            seed: 7,
            time: Duration::from_hours(1),
        };
        let rounds = || settings.rounds().take(5).collect::<Vec<_>>();
        assert_eq!(rounds(), rounds());
        assert_ne!(rounds()[1], rounds()[2]);
    }
}
