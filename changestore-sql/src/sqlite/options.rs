//! How a store on SQLite is opened.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use changestore_core::{Clock, Error, Result, SystemClock};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::file::Access;
use super::location::{Location, Mode, refuse};
use crate::flow::scan::FIRST_PAGE;

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// A crash of the process, of the system, and the loss of power: every commit syncs the disk.
    #[default]
    Full,
    /// A crash of the process. The last commits before a crash of the system or a loss of power may
    /// be gone; the database is whole all the same.
    Normal,
}

impl FromStr for Synchronous {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "full" => Ok(Self::Full),
            "normal" => Ok(Self::Normal),
            _ => Err(refuse(format!(
                "synchronous is full or normal, not {text:?}"
            ))),
        }
    }
}

/// How to open a store: which file, and the rest with a default.
///
/// ```
/// use changestore_sql::{SqliteOptions, Synchronous};
/// use std::time::Duration;
///
/// let options = SqliteOptions::new("sqlite:/var/lib/queue/changestore.db?mode=rw")?
///     .with_synchronous(Synchronous::Normal)
///     .with_lock_timeout(Duration::from_secs(10));
/// # let _ = options;
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    pub(super) path: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) synchronous: Synchronous,
    pub(super) lock_timeout: Duration,
    pub(super) create_if_missing: bool,
    pub(super) read_only: bool,
    pub(super) readers: usize,
}

/// How long a write waits for other processes' writes, if nothing else is said.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// SQLite counts milliseconds in 32 bits.
const LONGEST_LOCK_TIMEOUT: Duration = Duration::from_millis(i32::MAX.unsigned_abs() as u64);

/// A page of the database. Larger than SQLite's default: a table without row ids keeps whole rows in
/// its inner pages, too, and with rows of this kind larger pages make a flatter tree.
const PAGE_SIZE: u32 = 8192;

/// Rows that a reader's thread reads ahead of its caller: so many records may be in memory on top of a
/// page. With few it waits for its caller again and again, which costs more than the rows. As many as a
/// query's first page has, so that it never waits in the middle of one.
const ROWS_AHEAD: usize = FIRST_PAGE;

impl SqliteOptions {
    /// A path, taken as it stands, or a URL: `sqlite:PATH`, `sqlite://PATH`. A URL is percent-decoded and
    /// may have the parameters `synchronous=full|normal` and `mode=ro|rw|rwc` (read only; not created;
    /// created if missing, the default).
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for another scheme, an unknown
    /// parameter or value, which it names, and for `:memory:`.
    pub fn new(path_or_url: &str) -> Result<Self> {
        let Location {
            path,
            synchronous,
            mode,
        } = Location::parse(path_or_url)?;
        Ok(Self {
            path,
            clock: Arc::new(SystemClock),
            synchronous: synchronous.unwrap_or_default(),
            lock_timeout: LOCK_TIMEOUT,
            create_if_missing: mode.is_none_or(|mode| mode == Mode::Create),
            read_only: mode == Some(Mode::Read),
            readers: available_parallelism().map_or(4, |cores| cores.get().clamp(2, 8)),
        })
    }

    /// The clock that decides what has expired; the system's by default.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What an acknowledged write survives; [`Synchronous::Full`] by default.
    #[must_use]
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long a write waits for the writes of other processes before it fails as
    /// [`Unavailable`](changestore_core::ErrorKind::Unavailable); 60 seconds by default, and at most
    /// 2³¹ - 1 milliseconds, about 24 days.
    #[must_use]
    pub fn with_lock_timeout(mut self, lock_timeout: Duration) -> Self {
        self.lock_timeout = lock_timeout.min(LONGEST_LOCK_TIMEOUT);
        self
    }

    /// Whether a missing file is created; yes by default. The folder must be there.
    #[must_use]
    pub fn with_create_if_missing(mut self, create_if_missing: bool) -> Self {
        self.create_if_missing = create_if_missing;
        self
    }

    /// Whether to open for reading only; no by default. No database is created or migrated then, and
    /// every write is refused as [`PermissionDenied`](changestore_core::ErrorKind::PermissionDenied).
    ///
    /// The folder has to be writable all the same, unless a process that writes the database has it
    /// open: the readers of a database in WAL mode share an index of the WAL, the file `-shm`, and
    /// SQLite creates it.
    #[must_use]
    pub fn with_read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// How many connections read at the same time, at least 1 whatever is said; by default as many as there are cores, from
    /// 2 to 8. Each has a thread and a cache of about 2 MB, and is opened when it is first needed.
    #[must_use]
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is to be done with the file.
    pub(super) fn access(&self) -> Access {
        match (self.read_only, self.create_if_missing) {
            (true, _) => Access::Read,
            (false, false) => Access::Write,
            (false, true) => Access::Create,
        }
    }

    /// What every connection has in common.
    fn connect(&self) -> SqliteConnectOptions {
        let synchronous = match self.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        };
        SqliteConnectOptions::new()
            .filename(&self.path)
            .foreign_keys(true)
            .synchronous(synchronous)
            // Statements are not logged: their texts are the library's, and looking costs time.
            .disable_statement_logging()
    }

    /// The writer's connection, which also makes a new database what it shall be.
    pub(super) fn connect_writer(&self) -> SqliteConnectOptions {
        self.connect()
            .create_if_missing(self.create_if_missing)
            .page_size(PAGE_SIZE)
            .journal_mode(SqliteJournalMode::Wal)
            // A batch's results never wait for their reader.
            .row_buffer_size(1024)
            .busy_timeout(Duration::ZERO)
    }

    /// A reader's connection. In WAL mode it meets a lock only where a crashed process is recovered from.
    pub(super) fn connect_reader(&self) -> SqliteConnectOptions {
        self.connect()
            .read_only(self.read_only)
            .row_buffer_size(ROWS_AHEAD)
            .busy_timeout(self.lock_timeout)
    }
}
