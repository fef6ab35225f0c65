//! The processor's time of this thread: what other programs take is not counted.

use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Linux tells it in a file; elsewhere it is the time that passes.
pub(crate) fn now() -> Duration {
    let used = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = used.and_then(|text| text.split(' ').next()?.parse().ok());
    used.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
