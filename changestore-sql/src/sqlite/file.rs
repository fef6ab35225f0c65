//! The file behind a store: what can be told before SQLite is asked, and what SQLite cannot tell.
//!
//! SQLite says "unable to open database file" or "attempt to write a readonly database", whatever is in the
//! way. Here the file system is asked what may be done; the file itself is never opened: closing it would
//! give up the locks that this process's connections hold on it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use changestore_core::{Error, ErrorKind, Operation, Result};

use super::codes::{self, SQLITE};
use super::location::refuse;

/// What is to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// Written, and created first if it is missing.
    Create,
}

/// Refuses what is no file, or may not be used so.
pub(super) fn check(path: &Path, access: Access) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refuse(format!("{} is a folder", path.display()))),
        Ok(found) if !found.is_file() => {
            Err(refuse(format!("{} is no ordinary file", path.display())))
        }
        // SQLite would open it for reading, and fail at the first write.
        Ok(_) if access != Access::Read => may(path, "written", Right::Write),
        Ok(_) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(denied(path, "reached", error))
        }
        Err(_) if access != Access::Create => {
            Err(refuse(format!("{} does not exist", path.display())))
        }
        Err(_) => match folder(path) {
            folder if folder.is_dir() => Ok(()),
            folder => Err(refuse(format!(
                "{} cannot be created: the folder {} does not exist",
                path.display(),
                folder.display()
            ))),
        },
    }
}

/// The error of opening, with the file's name, and with what was in the way if SQLite could not say it.
pub(super) fn explain(path: &Path, access: Access, error: Error) -> Error {
    if codes::is_about_access(&error)
        && let Err(obstacle) = look(path, access)
    {
        return obstacle;
    }
    let message = match error.message() {
        Some(message) => format!("{}: {message}", path.display()),
        None => path.display().to_string(),
    };
    error.with_message(message)
}

/// Looks for what is in the way.
fn look(path: &Path, access: Access) -> Result<()> {
    let folder = folder(path);
    if !path.exists() {
        return may(&folder, "written", Right::Write).map_err(|error| {
            let message = error.message().unwrap_or_default().to_owned();
            error.with_message(format!("{} cannot be created: {message}", path.display()))
        });
    }
    may(path, "read", Right::Read)?;
    let index = beside(path, "-shm");
    for file in [beside(path, "-wal"), index.clone()] {
        if file.exists() {
            may(&file, "read", Right::Read)?;
        }
        if file.exists() && access != Access::Read {
            may(&file, "written", Right::Write)?;
        }
    }
    may(&folder, "written", Right::Write).map_err(|error| {
        let message = error.message().unwrap_or_default().to_owned();
        let path = path.display();
        error.with_message(if access == Access::Read {
            format!(
                "{path}: {message}; SQLite creates {} there even for reading, unless a process \
                 that writes the database has it open",
                index.display()
            )
        } else {
            format!("{path}: {message}; SQLite creates the files -wal and -shm beside a database")
        })
    })
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// One of SQLite's files beside the database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[derive(Debug, Clone, Copy)]
enum Right {
    Read,
    Write,
}

fn may(path: &Path, done: &str, right: Right) -> Result<()> {
    ask(path, right).map_err(|error| denied(path, done, error))
}

/// Asks for the process's own rights.
#[cfg(unix)]
fn ask(path: &Path, right: Right) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let access = match right {
        Right::Read => Access::READ_OK,
        Right::Write => Access::WRITE_OK,
    };
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

#[cfg(not(unix))]
fn ask(path: &Path, right: Right) -> io::Result<()> {
    let is_readonly = fs::metadata(path)?.permissions().readonly();
    match right {
        Right::Write if is_readonly => Err(io::ErrorKind::PermissionDenied.into()),
        Right::Read | Right::Write => Ok(()),
    }
}

/// What cannot be done with a file or folder, and why.
fn denied(path: &Path, done: &str, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorKind::PermissionDenied
        }
        _ => ErrorKind::Configuration,
    };
    Error::new(kind)
        .with_backend(SQLITE.backend)
        .with_operation(Operation::Open)
        .with_message(format!("{} cannot be {done}", path.display()))
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    /// Where there is a superuser, it runs these tests and may do everything; so the answers of the
    /// file system are given.
    #[test]
    fn what_is_not_permitted_is_told_from_what_is_not_there() {
        for (error, kind) in [
            (io::ErrorKind::PermissionDenied, ErrorKind::PermissionDenied),
            (
                io::ErrorKind::ReadOnlyFilesystem,
                ErrorKind::PermissionDenied,
            ),
            (io::ErrorKind::NotADirectory, ErrorKind::Configuration),
        ] {
            let error = denied(Path::new("/a/x.db"), "written", error.into());
            assert_eq!(*error.kind(), kind);
            assert_eq!(error.message(), Some("/a/x.db cannot be written"));
            assert!(error.source().is_some());
        }
    }

    #[test]
    fn the_file_system_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        assert_eq!(
            ask(&path, Right::Read).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        fs::write(&path, "").unwrap();
        ask(&path, Right::Read).unwrap();
        ask(&path, Right::Write).unwrap();
        check(&path, Access::Write).unwrap();
        let below = check(&path.join("y.db"), Access::Read).unwrap_err();
        assert_eq!(*below.kind(), ErrorKind::Configuration);
        assert!(below.to_string().contains("x.db/y.db cannot be reached"));
    }

    #[test]
    fn other_errors_keep_their_words_behind_the_path() {
        let path = Path::new("/a/x.db");
        let error = explain(path, Access::Read, Error::corrupt("it is damaged"));
        assert_eq!(error.to_string(), "corrupt data: /a/x.db: it is damaged");
        let error = explain(path, Access::Read, Error::new(ErrorKind::Other));
        assert_eq!(error.to_string(), "failed: /a/x.db");
    }
}
