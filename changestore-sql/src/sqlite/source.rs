//! Where connections come from: the store's own options, or the user's pool.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqlitePool};

use super::connections::{Connections, Held};
use super::statements;

/// Where the writer gets its connection from, and another one after it was lost.
#[derive(Debug)]
pub(super) enum Source {
    Options(Box<SqliteConnectOptions>),
    Pool(SqlitePool),
}

impl Source {
    /// A connection that the writer keeps, and that does not wait for the lock by itself.
    pub(super) async fn connect_writer(&self) -> Result<SqliteConnection, sqlx::Error> {
        let mut connection = match self {
            Self::Options(options) => options.connect().await?,
            // Out of the pool for good, so that a pool of one connection is not starved by it.
            Self::Pool(pool) => pool.acquire().await?.detach(),
        };
        match sqlx::query(statements::DO_NOT_WAIT)
            .execute(&mut connection)
            .await
        {
            Ok(_) => Ok(connection),
            Err(error) => {
                let _ = connection.close().await;
                Err(error)
            }
        }
    }
}

/// Where reads get their connections from.
#[derive(Debug)]
pub(super) enum Readers {
    Held(Box<Connections<SqliteConnection>>),
    Pool(SqlitePool),
}

impl Readers {
    pub(super) async fn take(&self) -> Result<Reader<'_>, sqlx::Error> {
        Ok(match self {
            Self::Held(connections) => Reader::Held(connections.take().await?),
            Self::Pool(pool) => Reader::Pool(pool.acquire().await?),
        })
    }

    /// Closes the held connections; a pool is its owner's to close.
    pub(super) async fn close(&self) {
        if let Self::Held(connections) = self {
            connections.close().await;
        }
    }
}

/// A connection on loan for one read.
pub(super) enum Reader<'a> {
    Held(Held<'a, SqliteConnection>),
    Pool(PoolConnection<Sqlite>),
}

impl Reader<'_> {
    /// Drops a broken connection instead of giving it back.
    pub(super) fn discard(self) {
        match self {
            Self::Held(held) => held.discard(),
            Self::Pool(mut connection) => connection.close_on_drop(),
        }
    }
}

impl Deref for Reader<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        match self {
            Self::Held(held) => held,
            Self::Pool(connection) => connection,
        }
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        match self {
            Self::Held(held) => held,
            Self::Pool(connection) => connection,
        }
    }
}
