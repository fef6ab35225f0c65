//! Which file a path names: what tells an archive from a copy that was put in its place.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// A file's device, inode and time of birth.
///
/// The path's name does not tell a restored or swapped copy from the file that it replaced, and the
/// contract inside of the copy may be the same. An inode's number is used again once its file is gone; the time
/// of birth tells the two apart where the file system keeps one.
///
/// On systems without inode numbers `device` and `inode` are 0, and the time of birth is all there is.
#[derive(Debug, Clone, Copy, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileIdentity {
    /// The device's number.
    pub device: u64,
    /// The file's number on its device.
    pub inode: u64,
    /// The time of birth in nanoseconds since the Unix epoch, where the file system keeps it.
    pub born_ns: Option<i64>,
}

impl FileIdentity {
    /// Of the file that the path names now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(&std::fs::metadata(path)?))
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        let (device, inode) = numbers(metadata);
        let born = metadata.created().ok();
        let born = born.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            device,
            inode,
            born_ns: born.and_then(|age| i64::try_from(age.as_nanos()).ok()),
        }
    }

    /// Whether both are the same file. A time of birth that only one of them knows says nothing: a cursor may
    /// have been stored by a reader that cannot see it.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let same_birth = match (self.born_ns, other.born_ns) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.device == other.device && self.inode == other.inode && same_birth
    }
}

#[cfg(unix)]
fn numbers(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn numbers(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        std::fs::write(&one, "same").unwrap();
        std::fs::copy(&one, &two).unwrap();
        let before = FileIdentity::of(&one).unwrap();
        assert!(before.is_same(&FileIdentity::of(&one).unwrap()));
        assert!(!before.is_same(&FileIdentity::of(&two).unwrap()));
        std::fs::rename(&two, &one).unwrap();
        assert!(!before.is_same(&FileIdentity::of(&one).unwrap()));
    }

    #[test]
    fn the_time_of_birth_tells_a_reused_inode() {
        let old = FileIdentity {
            device: 1,
            inode: 2,
            born_ns: Some(3),
        };
        let new = FileIdentity {
            born_ns: Some(4),
            ..old
        };
        let unknown = FileIdentity {
            born_ns: None,
            ..old
        };
        assert!(!old.is_same(&new));
        assert!(old.is_same(&unknown) && unknown.is_same(&new));
    }
}
