//! `--cursor`: where a reader of the change contract has come to, in a file or as it is.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, anyhow};
use changestore_sql::contract::Cursor;
use tempfile::Builder;

use crate::failure::{Failure, Result};

/// A value of `--cursor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CursorPlace {
    /// The cursor itself.
    Here(String),
    /// A file that holds it, or is going to.
    File(PathBuf),
}

impl From<String> for CursorPlace {
    fn from(text: String) -> Self {
        if text.trim_start().starts_with('{') {
            Self::Here(text)
        } else {
            Self::File(text.into())
        }
    }
}

/// For messages.
impl fmt::Display for CursorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(_) => f.write_str("--cursor"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl CursorPlace {
    /// Reads the cursor; none if there is no such file.
    pub(super) fn load(&self) -> Result<Option<Cursor>> {
        let path = match self {
            Self::Here(text) => return Ok(Some(text.parse()?)),
            Self::File(path) => path,
        };
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let error = anyhow::Error::new(error);
                return Err(Failure::failed(
                    error.context(format!("cannot read {self}")),
                ));
            }
        };
        parse(&bytes)
            .with_context(|| {
                format!("{self} holds no cursor; where there is no such file, all is read anew")
            })
            .map(Some)
            .map_err(Failure::failed)
    }

    /// Stores the cursor, if in a file: it holds the old one or this one at any moment.
    pub(super) fn store(&self, cursor: &Cursor) -> Result<()> {
        match self {
            Self::Here(_) => Ok(()),
            Self::File(path) => replace(path, &format!("{cursor}\n"))
                .with_context(|| format!("cannot write {self}"))
                .map_err(Failure::failed),
        }
    }
}

fn parse(bytes: &[u8]) -> anyhow::Result<Cursor> {
    let text = str::from_utf8(bytes).map_err(|_| anyhow!("it is not UTF-8"))?;
    Ok(text.parse()?)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    // What a link leads to is replaced, and the link stays.
    let path = match path.canonicalize() {
        Ok(target) => target,
        Err(_) => path.to_owned(),
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // As every other new file: what the umask leaves.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    // Or a power cut may leave the new name and not yet the bytes.
    file.as_file().sync_data()?;
    file.persist(&path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURSOR: &str = r#"{"epoch":"e","generation":2,"schema_version":3,"seq":4,"file":{"device":5,"inode":6,"born_ns":7}}"#;

    #[test]
    fn a_stored_cursor_is_read_again_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cursor");
        let place = CursorPlace::from(path.to_str().unwrap().to_owned());
        assert!(place.load().unwrap().is_none());
        let mut cursor: Cursor = CURSOR.parse().unwrap();
        for seq in [4, 1_000_000, 5] {
            cursor.seq = seq;
            place.store(&cursor).unwrap();
            assert_eq!(place.load().unwrap(), Some(cursor.clone()));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_cursor_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, CURSOR).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut cursor: Cursor = CURSOR.parse().unwrap();
        cursor.seq = 9;
        CursorPlace::File(link.clone()).store(&cursor).unwrap();
        assert!(link.is_symlink());
        assert_eq!(CursorPlace::File(file).load().unwrap(), Some(cursor));
    }

    #[test]
    fn json_is_a_cursor_and_anything_else_a_file() {
        let place = |text: &str| CursorPlace::from(text.to_owned());
        assert_eq!(place(CURSOR).load().unwrap(), Some(CURSOR.parse().unwrap()));
        assert!(matches!(place(" {").load(), Err(Failure::Usage(_))));
        assert_eq!(place("a {"), CursorPlace::File("a {".into()));
    }
}
