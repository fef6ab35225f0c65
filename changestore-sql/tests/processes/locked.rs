//! A file, and a folder, that may only be read.
//!
//! Nobody forbids the superuser anything, so the process that tries is another user's where this one is the
//! superuser's.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use changestore_core::{ChangeStore as _, CreateOutcome, Error, ErrorKind, Outcome};
use changestore_sql::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::roles::{self, Role, say};
use super::{Actor, file};

/// `nobody`, or just somebody else.
const NOBODY: u32 = 65_534;

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// This program, where anybody can start it.
fn program(folder: &Path) -> Command {
    let copy = folder.join("program");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    allow(&copy, 0o755);
    let mut command = Command::new(copy);
    if fs::metadata(folder).unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Whatever may not be written to, every write is told as that, what is there stays, and it can be read where SQLite
/// can read it: in a folder in which nothing can be made, that is while somebody else has the file open.
pub(super) fn a_file_that_may_only_be_read() {
    for (file_mode, folder_mode, is_open) in [
        (0o444, 0o777, false),
        (0o444, 0o555, false),
        (0o444, 0o555, true),
        (0o666, 0o555, false),
    ] {
        let (folder, path) = file();
        let programs = TempDir::new().unwrap();
        allow(programs.path(), 0o755);
        let runtime = Runtime::new().unwrap();
        let owner = runtime.block_on(async {
            let store = SqliteStore::open(&path).await.unwrap();
            let created = store.create(roles::claim("r1".to_owned())).await;
            assert_eq!(created.unwrap(), CreateOutcome::Created);
            if !is_open {
                store.close().await;
            }
            store
        });
        let stored = fs::read(&path).unwrap();
        allow(Path::new(&path), file_mode);
        allow(folder.path(), folder_mode);
        let mut actor = Actor::start_by(program(programs.path()), Role::Locked, &path);
        let told: Vec<_> = actor.lines.by_ref().map(Result::unwrap).collect();
        assert!(actor.child.wait().unwrap().success(), "{told:?}");
        allow(folder.path(), 0o755);
        let place = format!("{file_mode:o} in {folder_mode:o}, open {is_open}: {told:?}");
        let [written, read] = told.as_slice() else {
            panic!("{place}");
        };
        assert!(written.starts_with("refused "), "{place}");
        assert!(written.contains(&path), "{place}");
        if folder_mode == 0o777 || is_open {
            assert_eq!(read, "read 1", "{place}");
        } else {
            assert!(read.starts_with("not read "), "{place}");
            assert!(read.contains("PermissionDenied"), "{place}");
            assert!(
                read.contains("cannot be written; SQLite creates"),
                "{place}"
            );
        }
        assert_eq!(fs::read(&path).unwrap(), stored, "{place}");
        runtime.block_on(owner.close());
    }
}

fn is_told(error: &Error) {
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    assert!(!error.is_retryable(), "{error:?}");
}

/// Tries to write, and says how it was refused; then reads.
pub(crate) async fn try_to_write(path: &str) {
    let created = async {
        let store = SqliteStore::open(path).await?;
        store.create(roles::claim("r2".to_owned())).await
    };
    match created.await {
        Ok(created) => say(&format!("written {created:?}")),
        Err(error) => {
            say(&format!("refused {error} {error:?}"));
            is_told(&error);
        }
    }
    let options = SqliteOptions::new(path).unwrap().with_read_only(true);
    match SqliteStore::open_with(options).await {
        Ok(store) => {
            let claims = store.get_by_uri("queue", "uri").await.unwrap();
            say(&format!("read {}", claims.len()));
        }
        Err(error) => say(&format!("not read {error} {error:?}")),
    }
}
