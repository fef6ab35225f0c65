//! A copy of the database without the contract.
//!
//! The source is copied as it is in one read transaction; the contract is dropped from that copy; and
//! the copy is written anew, so that its free pages, which held the log, are left behind. `VACUUM INTO` keeps
//! row ids, which VACUUM does not.

use std::fs;
use std::path::{Path, PathBuf};

use changestore_core::{Error, ErrorKind, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use uuid::Uuid;

use super::failure::failed;
use super::objects;

pub(super) async fn export(source: &mut SqliteConnection, destination: &Path) -> Result<()> {
    if destination.exists() {
        return Err(refused(destination, "exists already"));
    }
    let copy = Scratch::beside(destination);
    let whole = Scratch::beside(destination);
    vacuum_into(source, &copy.0).await?;
    let mut connection = SqliteConnectOptions::new()
        .filename(&copy.0)
        .disable_statement_logging()
        .connect()
        .await
        .map_err(failed)?;
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut connection)
        .await
        .map_err(failed)?;
    objects::drop_all(&mut connection).await?;
    sqlx::query("COMMIT")
        .execute(&mut connection)
        .await
        .map_err(failed)?;
    vacuum_into(&mut connection, &whole.0).await?;
    connection.close().await.map_err(failed)?;
    // Unlike a renaming, a link replaces nothing that has come to be there meanwhile.
    fs::hard_link(&whole.0, destination)
        .map_err(|error| refused(destination, "cannot be written").with_source(error))
}

async fn vacuum_into(connection: &mut SqliteConnection, path: &Path) -> Result<()> {
    let Some(text) = path.to_str() else {
        return Err(refused(path, "is a path that is not UTF-8"));
    };
    sqlx::query("VACUUM INTO ?1")
        .bind(text)
        .execute(connection)
        .await
        .map_err(failed)?;
    Ok(())
}

fn refused(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::Configuration)
        .with_backend("sqlite")
        .with_message(format!("{} {why}", path.display()))
}

/// A file that is gone when this is.
struct Scratch(PathBuf);

impl Scratch {
    /// In the same folder: on the same disk.
    fn beside(destination: &Path) -> Self {
        let mut name = destination.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", Uuid::new_v4().simple()));
        Self(destination.with_file_name(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let journal = |suffix: &str| {
            let mut path = self.0.clone().into_os_string();
            path.push(suffix);
            path
        };
        for path in [
            self.0.clone().into(),
            journal("-journal"),
            journal("-wal"),
            journal("-shm"),
        ] {
            // Missing is what it should be.
            let _ = fs::remove_file(path);
        }
    }
}
