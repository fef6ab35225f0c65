//! The owner's commands.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use changestore_core::{Error, ErrorKind, Operation, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::enabled::Enabled;
use super::export::export;
use super::failure::failed;
use super::guard::SchemaGuard;
use super::install::enable;
use super::installed::{Position, position};
use super::objects::{self, Presence};
use super::plan::ContractPlan;
use super::state::advance_generation;
use super::status::{Status, status};
use crate::sqlite::codes;

/// How long a command waits for writers, if nothing else is said.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// How long it pauses between two attempts at the write lock.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);

/// The owner of an archive's contract: creates, arms, bumps and removes it.
///
/// Each command that changes something is one transaction that takes SQLite's ordinary write lock, waits for it, and
/// changes everything or nothing. Writers may go on beside it: they wait in turn, and see no error. No
/// migration is run.
///
/// ```no_run
/// use changestore_sql::contract::{ContractOwner, ContractPlan, Mode, SchemaGuard};
///
/// # async fn example() -> changestore_core::Result<()> {
/// let owner = ContractOwner::open("archive.db", SchemaGuard::UserVersion(7)).await?;
/// let plan = ContractPlan::new()
///     .with_table("threads", Mode::Rows)
///     .with_family("dashboard", ["threads"]);
/// let enabled = owner.enable(&plan).await?;
/// println!("epoch {}", enabled.position.epoch);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ContractOwner {
    path: PathBuf,
    guard: SchemaGuard,
    lock_timeout: Duration,
}

impl ContractOwner {
    /// For an existing database. Whether its schema is the expected one is checked here and again by each
    /// command.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) for a missing file or another schema.
    pub async fn open(path: impl AsRef<Path>, guard: SchemaGuard) -> Result<Self> {
        let owner = Self {
            path: path.as_ref().to_owned(),
            guard,
            lock_timeout: LOCK_TIMEOUT,
        };
        let mut connection = owner.connect(true).await?;
        guard.check(&mut connection).await?;
        connection.close().await.map_err(failed)?;
        Ok(owner)
    }

    /// How long a command waits for other writers before it fails as
    /// [`Unavailable`](ErrorKind::Unavailable); 60 seconds by default.
    #[must_use]
    pub fn with_lock_timeout(mut self, lock_timeout: Duration) -> Self {
        self.lock_timeout = lock_timeout;
        self
    }

    /// What there is. Reads only, and says so too where there is no contract.
    pub async fn status(&self) -> Result<Status> {
        let mut connection = self.connect(true).await?;
        let mut transaction = connection.begin().await.map_err(failed)?;
        let status = status(&mut transaction).await?;
        transaction.rollback().await.map_err(failed)?;
        connection.close().await.map_err(failed)?;
        Ok(status)
    }

    /// Creates the contract, or brings the one that is there to the plan: arms what is not armed, tracks and
    /// forgets tables, sets the families and the retention. The log and the epoch stay. The generation
    /// advances if readers may have missed something.
    ///
    /// Of a contract that lacks some of its objects the rest is removed, and a new one created with a new
    /// epoch and, if nothing else is planned, the old retention.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a table that cannot be tracked, with the
    /// reason, and for a retention below the least. Nothing is changed then.
    pub async fn enable(&self, plan: &ContractPlan) -> Result<Enabled> {
        let mut writer = self.write().await?;
        let result = enable(&mut writer.connection, plan).await;
        writer.end(result).await
    }

    /// Advances the generation: every reader reads everything once. For a rewrite that the triggers could not
    /// see. The reason is kept, for whoever asks for the status.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for an empty reason,
    /// [`Configuration`](ErrorKind::Configuration) where there is no whole contract.
    pub async fn bump(&self, reason: &str) -> Result<Position> {
        if reason.trim().is_empty() {
            return Err(Error::invalid_argument("reason", "it is empty"));
        }
        let mut writer = self.write().await?;
        let connection = &mut writer.connection;
        let result = bump(connection, reason).await;
        writer.end(result).await
    }

    /// Removes every trigger and every object of the contract; says whether there was anything.
    pub async fn disable(&self) -> Result<bool> {
        let mut writer = self.write().await?;
        let result = objects::drop_all(&mut writer.connection).await;
        writer.end(result).await
    }

    /// Arms what a migration has disarmed, if there is a whole contract: what
    /// [`enable`](Self::enable) does with an empty plan. Creates nothing, and takes no lock where there is
    /// nothing to be done. None where there is no contract.
    pub async fn rearm(&self) -> Result<Option<Enabled>> {
        let status = self.status().await?;
        if status.presence != Presence::Whole {
            return Ok(None);
        }
        self.enable(&ContractPlan::new()).await.map(Some)
    }

    /// Writes a copy of the database without the contract. The contract is dropped from the copy before its
    /// pages are written anew, so nothing of the log is left in free pages. The source is only read.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) where the destination exists. There is no half-written
    /// destination.
    pub async fn export(&self, destination: impl AsRef<Path>) -> Result<()> {
        let mut connection = self.connect(true).await?;
        self.guard.check(&mut connection).await?;
        let result = export(&mut connection, destination.as_ref()).await;
        connection.close().await.map_err(failed)?;
        result
    }

    fn busy_timeout(&self) -> Duration {
        // SQLite counts milliseconds in 32 bits.
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        self.lock_timeout.min(longest)
    }

    async fn connect(&self, read_only: bool) -> Result<SqliteConnection> {
        if !self.path.is_file() {
            return Err(Error::new(ErrorKind::Configuration)
                .with_backend("sqlite")
                .with_operation(Operation::Open)
                .with_message(format!("{} is no file", self.path.display())));
        }
        SqliteConnectOptions::new()
            .filename(&self.path)
            .read_only(read_only)
            .create_if_missing(false)
            .busy_timeout(self.busy_timeout())
            .disable_statement_logging()
            .connect()
            .await
            .map_err(failed)
    }

    /// Takes the write lock. SQLite's own waiting comes to pauses of a tenth of a second, which a writer that
    /// never pauses leaves next to no chance: the lock goes to whoever asks at the right moment.
    async fn begin(&self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let deadline = Instant::now() + self.lock_timeout;
        busy_timeout(connection, Duration::ZERO).await?;
        loop {
            match sqlx::query("BEGIN IMMEDIATE")
                .execute(&mut *connection)
                .await
            {
                Ok(_) => break,
                Err(error) if codes::is_locked(&error) && Instant::now() < deadline => {
                    tokio::time::sleep(BETWEEN_ATTEMPTS).await;
                }
                Err(error) => return Err(error),
            }
        }
        // A commit waits for readers, where there is no WAL, and lets no new ones in.
        busy_timeout(connection, self.busy_timeout()).await
    }

    /// A connection that holds the write lock, to a database with the expected schema.
    async fn write(&self) -> Result<Writer> {
        let mut connection = self.connect(false).await?;
        self.begin(&mut connection).await.map_err(failed)?;
        let mut writer = Writer { connection };
        match self.guard.check(&mut writer.connection).await {
            Ok(()) => Ok(writer),
            Err(error) => writer.end(Err(error)).await,
        }
    }
}

async fn busy_timeout(
    connection: &mut SqliteConnection,
    timeout: Duration,
) -> Result<(), sqlx::Error> {
    let sql = format!("PRAGMA busy_timeout = {}", timeout.as_millis());
    sqlx::query(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(())
}

/// A transaction. Dropped before its end it is rolled back: its connection is closed.
struct Writer {
    connection: SqliteConnection,
}

impl Writer {
    /// Commits what succeeded, and nothing else.
    async fn end<T>(mut self, result: Result<T>) -> Result<T> {
        let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = sqlx::query(end).execute(&mut self.connection).await;
        let closed = self.connection.close().await;
        let value = result?;
        ended.map_err(failed)?;
        closed.map_err(failed)?;
        Ok(value)
    }
}

async fn bump(connection: &mut SqliteConnection, reason: &str) -> Result<Position> {
    if objects::presence(connection).await? != Presence::Whole {
        return Err(Error::new(ErrorKind::Configuration)
            .with_backend("sqlite")
            .with_message(
                "the database has no change contract, or not all of it; enable it first",
            ));
    }
    advance_generation(connection, reason.to_owned()).await?;
    position(connection).await
}
