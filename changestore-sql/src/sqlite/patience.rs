//! Opening while others use the file: what is locked is tried again, until a deadline.

use std::time::Duration;

use changestore_core::Result;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::time::Instant;

use super::migrate::{self, Trouble};
use crate::contract;
use crate::flow::backoff::Backoff;
use crate::flow::migrations::State;

/// Sits out another process's lock.
pub(super) struct Patience {
    deadline: Instant,
    backoff: Backoff,
}

impl Patience {
    pub(super) fn new(lock_timeout: Duration) -> Self {
        Self {
            deadline: Instant::now() + lock_timeout,
            backoff: Backoff::default(),
        }
    }

    /// Waits a moment if a lock is all that was in the way, and fails with the trouble otherwise.
    async fn outlast(&mut self, trouble: Trouble) -> Result<()> {
        match trouble {
            Trouble::Locked(_) if Instant::now() < self.deadline => {
                self.backoff.wait().await;
                Ok(())
            }
            Trouble::Locked(error) | Trouble::Other(error) => Err(error),
        }
    }

    /// Connects; the switch to WAL needs the database for itself for a moment, and SQLite does not
    /// wait for it.
    pub(super) async fn connect(
        &mut self,
        options: &SqliteConnectOptions,
    ) -> Result<SqliteConnection> {
        loop {
            match SqliteConnection::connect_with(options).await {
                Ok(connection) => return Ok(connection),
                Err(error) => self.outlast(Trouble::new(error)).await?,
            }
        }
    }

    pub(super) async fn state(&mut self, connection: &mut SqliteConnection) -> Result<State> {
        loop {
            match migrate::state(connection).await {
                Ok(state) => return Ok(state),
                Err(trouble) => self.outlast(trouble).await?,
            }
        }
    }

    /// Applies what is missing. A database that is up to date is only read.
    pub(super) async fn migrate(&mut self, connection: &mut SqliteConnection) -> Result<()> {
        let state = self.state(connection).await?;
        let (State::Missing | State::Older(_)) = state else {
            return migrate::check(&state);
        };
        while let Err(trouble) = migrate::apply(connection).await {
            self.outlast(trouble).await?;
        }
        Ok(())
    }

    /// Arms an enabled change contract again where something disarmed it. A store can be opened whatever
    /// becomes of that: readers notice what is unarmed, and read everything.
    pub(super) async fn rearm(&mut self, connection: &mut SqliteConnection) {
        while let Err(error) = contract::rearm(connection).await {
            if !error.is_retryable() || self.outlast(Trouble::Locked(error)).await.is_err() {
                return;
            }
        }
    }
}
