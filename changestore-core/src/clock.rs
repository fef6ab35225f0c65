//! Time: one unit, one epoch, and a clock that tests can step.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::limits::GARBAGE_GRACE;

/// A point in time: whole milliseconds since the Unix epoch, UTC, from 1970 to the end of 9999.
///
/// The range is what every backend can store (Bigtable keeps expiry as a cell's timestamp in
/// microseconds, which must not be negative).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z, the earliest.
    pub const EPOCH: Self = Self(0);
    /// 9999-12-31T23:59:59.999Z, the latest.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The time that many milliseconds after the epoch.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `timestamp` before
    /// [`EPOCH`](Self::EPOCH) or after [`MAX`](Self::MAX).
    pub fn from_millis(millis: i64) -> Result<Self> {
        if (0..=Self::MAX.0).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(Error::invalid_argument(
                "timestamp",
                format!("{millis} ms is not between 1970 and the end of 9999"),
            ))
        }
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This time plus a duration (rounded down to milliseconds), at most [`MAX`](Self::MAX).
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis).min(Self::MAX.0))
    }

    /// This time minus a duration (rounded down to milliseconds), at least [`EPOCH`](Self::EPOCH).
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis).max(0))
    }

    /// Whether something that expires at this time is expired: `self <= now`.
    #[must_use]
    pub fn is_expired_at(self, now: Self) -> bool {
        self <= now
    }

    /// Whether something that expires at this time may be deleted: it has expired, and
    /// [`GARBAGE_GRACE`] has passed since.
    #[must_use]
    pub fn is_garbage_at(self, now: Self) -> bool {
        self.saturating_add(GARBAGE_GRACE).is_expired_at(now)
    }
}

impl TryFrom<SystemTime> for Timestamp {
    type Error = Error;

    fn try_from(time: SystemTime) -> Result<Self> {
        let since = time.duration_since(UNIX_EPOCH).map_err(|error| {
            Error::invalid_argument("timestamp", "before 1970").with_source(error)
        })?;
        Self::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_millis(timestamp.0.unsigned_abs())
    }
}

/// Milliseconds since the epoch, as a number.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Tells an adapter what time it is.
///
/// Every adapter takes one, [`SystemClock`] by default. It alone decides what has expired: a server's
/// own clock and its native TTL never do. Tests pass a [`ManualClock`] and step it; nothing sleeps.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The system's clock. A time outside of [`Timestamp`]'s range is cut to it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp::EPOCH.saturating_add(since),
            Err(_before_the_epoch) => Timestamp::EPOCH,
        }
    }
}

/// A clock that stands still until it is set or advanced. Clones show the same time.
///
/// ```
/// use changestore_core::{Clock, ManualClock, Timestamp};
/// use std::time::Duration;
///
/// let clock = ManualClock::new(Timestamp::from_millis(1_000)?);
/// let seen_by_the_store = clock.clone();
/// clock.advance(Duration::from_secs(1));
/// assert_eq!(seen_by_the_store.now().as_millis(), 2_000);
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(now.0)))
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    /// Moves the time forward, at most to [`Timestamp::MAX`].
    pub fn advance(&self, by: Duration) {
        let step = |now| Some(Timestamp(now).saturating_add(by).0);
        // The step always returns some value, so the update cannot fail.
        let _ = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
