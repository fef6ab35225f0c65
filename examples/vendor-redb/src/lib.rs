#![doc = include_str!("../README.md")]

mod claims;
#[cfg(test)]
mod corruption;
mod documents;
mod error;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use changestore_core::{Clock, Error, Operation, Result, SystemClock};
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};
use tokio::sync::Mutex;

use error::Failure;

/// The name of this backend in errors and reports.
pub const BACKEND: &str = "redb";

/// Both contracts in one redb file. Clones share it; the file is closed with the last of them.
///
/// Durable: a write is acknowledged after redb has synced it, which is redb's default. One process
/// at a time can have the file open. Call it inside of a tokio runtime.
#[derive(Debug, Clone)]
pub struct RedbStore {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
    writer: Arc<Mutex<()>>,
}

impl RedbStore {
    /// Opens the file, or makes a new one.
    ///
    /// # Errors
    /// [`Unavailable`](changestore_core::ErrorKind::Unavailable) if it is open already,
    /// [`Corrupt`](changestore_core::ErrorKind::Corrupt) if it is no redb file.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let opened = blocking(move || Ok(Database::create(path)?)).await;
        Self::from_database(opened.map_err(|error| named(error, Operation::Open))?).await
    }

    /// Uses a database that you opened with options of your own.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) if it has tables of the same
    /// names that are not this crate's.
    pub async fn from_database(database: Database) -> Result<Self> {
        let store = Self {
            database: Arc::new(database),
            clock: Arc::new(SystemClock),
            writer: Arc::default(),
        };
        let made = store.write(tables::create).await;
        made.map_err(|error| named(error, Operation::Open))?;
        Ok(store)
    }

    /// Tells this handle the time from another clock, such as a
    /// [`ManualClock`](changestore_core::ManualClock).
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Reads from one snapshot, which holds every write that was acknowledged before.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let database = Arc::clone(&self.database);
        blocking(move || work(&database.begin_read()?)).await
    }

    /// Writes in one transaction: all of it if the work succeeds, else nothing.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        // redb lets in one writer at a time and blocks the others' threads. They wait here instead,
        // where waiting costs no thread and a dropped future has done nothing yet.
        let turn = Arc::clone(&self.writer).lock_owned().await;
        let database = Arc::clone(&self.database);
        blocking(move || {
            let _turn = turn;
            let transaction = database.begin_write()?;
            // An error leaves without a commit, and dropping a transaction undoes it.
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
        .await
    }
}

/// Runs what waits for the disk where it holds up no other task of the runtime.
///
/// This is also what makes cancellation safe: the transaction lives inside of the closure, and the
/// closure runs to its end whether or not somebody still waits for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Failure::into_error),
        Err(error) => Err(error::of_a_task(error)),
    }
}

/// Every error says whose it is and what was being done.
fn named(error: Error, operation: Operation) -> Error {
    error.with_backend(BACKEND).with_operation(operation)
}
