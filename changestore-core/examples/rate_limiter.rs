//! A rate limiter: a counter per caller and window, which expires with its window.
//!
//! `cargo run --package changestore-core --example rate_limiter`

use std::time::Duration;

use changestore_core::limits::GARBAGE_GRACE;
use changestore_core::{Clock, DocumentStore, Key, ManualClock, Result, Timestamp};
use store_mem::MemStore;

const WINDOW: Duration = Duration::from_mins(1);
const ALLOWED: i64 = 3;

/// Counts the call and says whether it is within the limit.
///
/// If the store cannot say whether it has counted (an outcome that is unknown), the call is not
/// counted again: the error is the caller's to judge.
async fn is_allowed(store: &dyn DocumentStore, clock: &dyn Clock, caller: &str) -> Result<bool> {
    let now = clock.now().as_millis();
    let window_millis = i64::try_from(WINDOW.as_millis()).expect("a short window");
    let start = now - now % window_millis;
    let key = Key::new(format!("RATE#{caller}"), format!("{start:015}"))?;
    let end = Timestamp::from_millis(start + window_millis)?;
    Ok(store.increment(&key, 1, Some(end)).await? <= ALLOWED)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // The clock of this example is stepped by hand; a program takes the default, the system's.
    let clock = ManualClock::new(Timestamp::from_millis(1_795_996_800_000)?);
    let store = MemStore::with_clock(clock.clone());

    for call in 1..=4 {
        let allowed = is_allowed(&store, &clock, "10.0.0.1").await?;
        println!(
            "call {call} of 10.0.0.1: {}",
            if allowed { "allowed" } else { "refused" }
        );
        assert_eq!(allowed, call <= ALLOWED);
    }
    assert!(is_allowed(&store, &clock, "10.0.0.2").await?);
    println!("call 1 of 10.0.0.2: allowed");

    clock.advance(WINDOW);
    assert!(is_allowed(&store, &clock, "10.0.0.1").await?);
    println!("a minute later, call 1 of 10.0.0.1: allowed");

    clock.advance(GARBAGE_GRACE);
    let collected = store.collect_expired();
    println!("a day later, {collected} old counters are deleted");
    assert_eq!(collected, 2);
    Ok(())
}
