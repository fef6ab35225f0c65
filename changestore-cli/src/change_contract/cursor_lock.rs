//! One reader at a time for a cursor's file.
//!
//! Two that store into one file would each pass over what only the other has printed. The lock is the
//! operating system's, advisory, on a file beside the cursor's, which itself is replaced each time it is stored. It
//! ends with the process however that ends. The file stays: whoever removed it could take it from under another one
//! that has just opened it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;

use anyhow::anyhow;

use super::cursor_place::CursorPlace;
use crate::failure::{Failure, Result};

/// Keeps others away while it lives.
#[derive(Debug)]
pub(super) struct CursorLock {
    /// None where there is nothing to be locked.
    _file: Option<File>,
}

impl CursorLock {
    /// # Errors
    /// Where another process holds it, which is named.
    pub(super) fn take(place: &CursorPlace) -> Result<Self> {
        let CursorPlace::File(cursor) = place else {
            return Ok(Self { _file: None });
        };
        let path = beside(cursor);
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = match opened {
            Ok(file) => file,
            // Nobody can store a cursor there either, which is said when it is tried.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { _file: None });
            }
            Err(error) => {
                let error = anyhow::Error::new(error);
                let error = error.context(format!("cannot open {}", path.display()));
                return Err(Failure::failed(error));
            }
        };
        match file.try_lock() {
            Ok(()) => {}
            // There are file systems without locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(Self { _file: None });
            }
            Err(TryLockError::Error(error)) => {
                let error = anyhow::Error::new(error);
                let error = error.context(format!("cannot lock {}", path.display()));
                return Err(Failure::failed(error));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::failed(anyhow!(
                    "{place} is in use by {}: a cursor's file is for one reader at a time",
                    holder(&mut file)
                )));
            }
        }
        // For whoever comes too late. That it is locked does not depend on it.
        let _ = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", process::id()));
        Ok(Self { _file: Some(file) })
    }
}

/// The same for all names of one cursor: a link's is that of what it leads to.
fn beside(cursor: &Path) -> PathBuf {
    let cursor = cursor
        .canonicalize()
        .unwrap_or_else(|_| cursor.to_path_buf());
    let mut name = cursor.into_os_string();
    name.push(".lock");
    name.into()
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if text.trim().parse::<u32>().is_ok() => format!("process {}", text.trim()),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(place: &CursorPlace) -> String {
        match CursorLock::take(place) {
            Err(Failure::Failed(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_second_reader_is_told_of_the_first_until_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let place = CursorPlace::File(folder.path().join("cursor"));
        let first = CursorLock::take(&place).unwrap();
        let refusal = refusal(&place);
        let named = format!("in use by process {}", process::id());
        assert!(refusal.contains(&named), "{refusal}");
        drop(first);
        CursorLock::take(&place).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_the_cursor_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("cursor"), folder.path().join("link"));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let _held = CursorLock::take(&CursorPlace::File(file)).unwrap();
        refusal(&CursorPlace::File(link));
    }

    #[test]
    fn a_cursor_that_is_in_no_file_is_nobodys() {
        let place = CursorPlace::Here("{}".to_owned());
        let _one = CursorLock::take(&place).unwrap();
        CursorLock::take(&place).unwrap();
    }
}
