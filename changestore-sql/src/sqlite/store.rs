//! Opening, sharing and closing a store on SQLite.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use changestore_core::{Clock, Error, ErrorKind, Operation, Result, SystemClock};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnection;
use tokio::runtime::Handle;

use super::codes::SQLITE;
use super::connections::Connections;
use super::engine::SqliteEngine;
use super::file::{self, Access};
use super::group_commit::Writer;
use super::location::refuse;
use super::migrate;
use super::options::{LOCK_TIMEOUT, SqliteOptions};
use super::patience::Patience;
use super::source::{Readers, Source};
use super::statements;
use crate::flow::call::Call;
use crate::flow::classify::Cause;
use crate::flow::contracts;
use crate::flow::reply::closed;

/// Both contracts in one SQLite file. Cheap to clone; the clones share everything.
///
/// The crate's page says how it behaves. It works on the tokio runtime that it was opened on, and only as
/// long as that lives.
#[derive(Clone)]
pub struct SqliteStore(pub(super) Arc<Inner>);

pub(super) struct Inner {
    path: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    /// None for a store that only reads.
    writer: Option<Writer>,
    pub(super) readers: Readers,
    pub(super) lock_timeout: Duration,
    is_closed: AtomicBool,
}

impl SqliteStore {
    /// Opens the store in the file of this path or URL ([`SqliteOptions::new`]); creates the file if it
    /// is missing, and applies the migrations that it lacks.
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn open(path_or_url: &str) -> Result<Self> {
        Self::open_with(SqliteOptions::new(path_or_url)?).await
    }

    /// Opens the store as the options say.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) where there is no such file or folder, where the
    /// database's encoding is not UTF-8, or its schema newer than this library's;
    /// [`Corrupt`](ErrorKind::Corrupt) for a file that is no SQLite database;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) where it cannot be written;
    /// [`Unavailable`](ErrorKind::Unavailable) if others hold the lock for longer than the timeout.
    pub async fn open_with(options: SqliteOptions) -> Result<Self> {
        let (path, access) = (options.path.clone(), options.access());
        call(Operation::Open)
            .run(async {
                check_runtime()?;
                file::check(&path, access)?;
                Self::open_file(options)
                    .await
                    .map_err(|error| file::explain(&path, access, error))
            })
            .await
    }

    async fn open_file(options: SqliteOptions) -> Result<Self> {
        let readers = Connections::new(options.connect_reader(), options.readers);
        let mut patience = Patience::new(options.lock_timeout);
        let writer = if options.read_only {
            let mut connection = readers.take().await.map_err(failed)?;
            check_encoding(&mut connection).await?;
            migrate::check(&patience.state(&mut connection).await?)?;
            None
        } else {
            let connect = options.connect_writer();
            let mut connection = patience.connect(&connect).await?;
            check_encoding(&mut connection).await?;
            patience.migrate(&mut connection).await?;
            patience.rearm(&mut connection).await;
            let source = Source::Options(Box::new(connect));
            let engine = SqliteEngine::new(source, connection, Arc::clone(&options.clock));
            Some(Writer::start(engine, options.lock_timeout))
        };
        Ok(Self(Arc::new(Inner {
            path: options.path,
            clock: options.clock,
            writer,
            readers: Readers::Held(Box::new(readers)),
            lock_timeout: options.lock_timeout,
            is_closed: AtomicBool::new(false),
        })))
    }

    /// A store on the user's own pool, with the system's clock.
    ///
    /// The schema is checked and not touched: see [`migrate`](Self::migrate). One connection is
    /// taken out of the pool for the writer; reads go through the pool. How durable a write is and how
    /// long a read waits is what the pool's options say (without WAL, writers and readers wait for each
    /// other); turn `test_before_acquire` off, or every read costs twice.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) where the schema is missing, older or newer, for a
    /// database in memory, and for an encoding other than UTF-8.
    pub async fn from_pool(pool: SqlitePool) -> Result<Self> {
        Self::from_pool_with_clock(pool, SystemClock).await
    }

    /// As [`from_pool`](Self::from_pool), with this clock.
    ///
    /// # Errors
    /// Those of [`from_pool`](Self::from_pool).
    pub async fn from_pool_with_clock(pool: SqlitePool, clock: impl Clock) -> Result<Self> {
        call(Operation::Open)
            .run(async {
                check_runtime()?;
                let path = pool.connect_options().get_filename().to_owned();
                Self::open_pool(pool, Arc::new(clock))
                    .await
                    .map_err(|error| file::explain(&path, Access::Write, error))
            })
            .await
    }

    async fn open_pool(pool: SqlitePool, clock: Arc<dyn Clock>) -> Result<Self> {
        let source = Source::Pool(pool.clone());
        let mut connection = source.connect_writer().await.map_err(failed)?;
        let path = pool_file(&mut connection).await?;
        check_encoding(&mut connection).await?;
        let mut patience = Patience::new(LOCK_TIMEOUT);
        migrate::check(&patience.state(&mut connection).await?)?;
        patience.rearm(&mut connection).await;
        let engine = SqliteEngine::new(source, connection, Arc::clone(&clock));
        Ok(Self(Arc::new(Inner {
            path,
            clock,
            writer: Some(Writer::start(engine, LOCK_TIMEOUT)),
            readers: Readers::Pool(pool),
            lock_timeout: LOCK_TIMEOUT,
            is_closed: AtomicBool::new(false),
        })))
    }

    /// Applies to the pool's database the migrations that it lacks, in one transaction. The user's own
    /// migrations, sqlx's or another tool's, are not touched.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) for a schema newer than this library's; those of
    /// the database.
    pub async fn migrate(pool: &SqlitePool) -> Result<()> {
        call(Operation::Migrate)
            .run(async {
                check_runtime()?;
                let path = pool.connect_options().get_filename().to_owned();
                let migrated = async {
                    let mut connection = pool.acquire().await.map_err(failed)?;
                    check_encoding(&mut connection).await?;
                    let mut patience = Patience::new(LOCK_TIMEOUT);
                    patience.migrate(&mut connection).await
                };
                migrated
                    .await
                    .map_err(|error| file::explain(&path, Access::Write, error))
            })
            .await
    }

    /// Waits until all writes that were begun are done, and closes the file. Every later call, of the
    /// clones as well, is refused as [`Unavailable`](ErrorKind::Unavailable). A pool of the user's stays
    /// open.
    ///
    /// Dropping the last clone does the same in the background.
    pub async fn close(&self) {
        self.0.is_closed.store(true, Ordering::Release);
        // The writer goes last: SQLite folds the WAL into the database when the last one closes.
        self.0.readers.close().await;
        if let Some(writer) = &self.0.writer {
            writer.close().await;
        }
    }

    /// Deletes all records and counters that expired more than 24 hours ago, and says how many there
    /// were. They have long been absent to every operation; this frees their space at once, which
    /// writes do little by little. Other writes go on between its steps.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if others hold the lock for longer than the timeout.
    pub async fn collect_expired(&self) -> Result<u64> {
        let steps = async {
            let mut deleted = 0;
            let mut position = None;
            loop {
                let step = self.0.writer()?.collect(position).await?;
                deleted += step.deleted;
                position = step.next;
                if position.is_none() {
                    return Ok(deleted);
                }
            }
        };
        call(Operation::CollectExpired).run(steps).await
    }
}

contracts::implement!(SqliteStore);

impl Inner {
    pub(super) fn writer(&self) -> Result<&Writer> {
        self.check_open()?;
        self.writer.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::PermissionDenied)
                .with_message("the store was opened for reading only")
        })
    }

    /// Refuses what comes after the store was closed.
    pub(super) fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(())
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.0.path)
            .field("read_only", &self.0.writer.is_none())
            .finish_non_exhaustive()
    }
}

/// A call that has no key.
fn call(operation: Operation) -> Call<&'static str> {
    Call::new(SQLITE.backend, operation, None)
}

fn failed(error: sqlx::Error) -> Error {
    Cause::new(error, &SQLITE).to_error()
}

/// Without a runtime tokio panics.
fn check_runtime() -> Result<()> {
    match Handle::try_current() {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(ErrorKind::Configuration)
            .with_message("a store is opened on a tokio runtime, and there is none here")
            .with_source(error)),
    }
}

async fn check_encoding(connection: &mut SqliteConnection) -> Result<()> {
    let encoding: String = sqlx::query_scalar(statements::ENCODING)
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    if encoding == "UTF-8" {
        return Ok(());
    }
    Err(refuse(format!(
        "the database's encoding is {encoding}; keys are in the contract's order only in UTF-8"
    )))
}

/// The pool's file.
async fn pool_file(connection: &mut SqliteConnection) -> Result<PathBuf> {
    let file: Option<String> = sqlx::query_scalar(statements::FILE)
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    match file {
        Some(file) if !file.is_empty() => Ok(file.into()),
        _ => Err(refuse(
            "the pool's database is in memory, where each connection may have its own; use the \
             crate store-mem for a store in memory",
        )),
    }
}
