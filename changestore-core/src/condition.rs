//! Optimistic concurrency: versions, etags, and the condition of a put or delete.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use crate::error::{Error, Result};

/// A record's version: 1 for the first write, one more for each following one, without gaps or
/// repeats. 0 stands for "no record" ([`Version::ABSENT`]). At most `i64::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u64);

impl Version {
    /// No record.
    pub const ABSENT: Self = Self(0);
    /// The version of a first write.
    pub const FIRST: Self = Self(1);
    /// The greatest that every backend can store.
    pub const MAX: Self = Self(i64::MAX.unsigned_abs());

    /// This version.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `version` over `i64::MAX`.
    pub fn new(version: u64) -> Result<Self> {
        if version > Self::MAX.0 {
            return Err(Error::invalid_argument(
                "version",
                format!("{version} is over the greatest, {}", Self::MAX),
            ));
        }
        Ok(Self(version))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number as databases store it.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.0.cast_signed()
    }

    /// The following version; [`MAX`](Self::MAX) stays.
    #[must_use]
    pub fn next(self) -> Self {
        Self((self.0 + 1).min(Self::MAX.0))
    }
}

impl From<u32> for Version {
    fn from(version: u32) -> Self {
        Self(u64::from(version))
    }
}

/// From a database's number.
impl TryFrom<i64> for Version {
    type Error = Error;

    fn try_from(version: i64) -> Result<Self> {
        u64::try_from(version)
            .map(Self)
            .map_err(|_| Error::invalid_argument("version", format!("{version} is negative")))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What tells one write of a record from every other write, for ever.
///
/// A version starts again at 1 when a record was deleted or expired and is created anew, so
/// `if version 1` can be fooled; `if etag` cannot. That is what makes a lease safe: its holder
/// renews and releases with the etag of its own put. Opaque, 1 to 64 bytes; compare it, do not read
/// anything from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Etag(Arc<str>);

impl Etag {
    /// The longest etag in bytes.
    pub const MAX_BYTES: usize = 64;

    /// A new etag, unlike any other: 122 random bits.
    ///
    /// An adapter draws one per logical write, before its first attempt, and stores it with the
    /// record; when the reply of an attempt was lost it tells its own write by it.
    #[must_use]
    pub fn unique() -> Self {
        let mut text = [0; uuid::fmt::Simple::LENGTH];
        Self(Uuid::new_v4().as_simple().encode_lower(&mut text).into())
    }

    /// An etag that came from a store.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) or
    /// [`TooLarge`](crate::ErrorKind::TooLarge) of `etag` when it is empty, holds a NUL or is longer
    /// than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(etag: impl AsRef<str>) -> Result<Self> {
        let etag = etag.as_ref();
        if etag.is_empty() || etag.contains('\0') {
            return Err(Error::invalid_argument(
                "etag",
                "must be text and not empty",
            ));
        }
        if etag.len() > Self::MAX_BYTES {
            return Err(Error::too_large("etag", Self::MAX_BYTES, etag.len()));
        }
        Ok(Self(etag.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When a put or delete may happen.
///
/// A condition is judged against the live record alone: an expired one is absent. One that does not
/// hold changes nothing and is [`ConditionFailed`](crate::ErrorKind::ConditionFailed), also when a
/// version or etag was asked for and nothing is there (for a delete that is
/// [`NotFound`](crate::ErrorKind::NotFound)).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// Always.
    #[default]
    None,
    /// Only if there is no record. Of a delete: an invalid argument.
    IfAbsent,
    /// Only if the record has this version; [`Version::ABSENT`] is the same as
    /// [`IfAbsent`](Self::IfAbsent).
    IfVersion(Version),
    /// Only if the record is still that very write.
    IfEtag(Etag),
}

impl Condition {
    /// The same condition with `IfVersion(ABSENT)` spelled as `IfAbsent`, so that an adapter has four
    /// cases and not five.
    #[must_use]
    pub fn normalized(self) -> Self {
        match self {
            Self::IfVersion(Version::ABSENT) => Self::IfAbsent,
            other => other,
        }
    }

    /// Whether a put may replace what is there: the live record's version and etag, or nothing.
    #[must_use]
    pub fn holds(&self, live: Option<(Version, &Etag)>) -> bool {
        match (self, live) {
            (Self::None, _) | (Self::IfAbsent | Self::IfVersion(Version::ABSENT), None) => true,
            (Self::IfVersion(wanted), Some((version, _))) => *wanted == version,
            (Self::IfEtag(wanted), Some((_, etag))) => wanted == etag,
            (Self::IfAbsent, Some(_)) | (Self::IfVersion(_) | Self::IfEtag(_), None) => false,
        }
    }

    /// Refuses what no delete can ask for, and normalizes the rest.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `condition` for if-absent.
    pub fn for_delete(self) -> Result<Self> {
        match self.normalized() {
            Self::IfAbsent => Err(Error::invalid_argument(
                "condition",
                "a delete cannot ask for if-absent",
            )),
            other => Ok(other),
        }
    }
}
