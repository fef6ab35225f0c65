//! A small set of held connections, for reads.
//!
//! sqlx's pool pings a connection when it is given back, and unless told otherwise when it is taken; each
//! ping is a hop to the connection's thread and back, as dear as the read itself. This set hands
//! out the connection that was used last, with its statements prepared and its pages in the cache,
//! and asks it nothing.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Semaphore, SemaphorePermit};

/// At most so many connections, opened when they are first needed.
pub(crate) struct Connections<C: Connection> {
    options: C::Options,
    /// The last one was used last.
    idle: Mutex<Vec<C>>,
    permits: Semaphore,
}

impl<C: Connection> Connections<C> {
    /// At least one connection, however few are asked for, and no more than can be counted.
    pub(crate) fn new(options: C::Options, at_most: usize) -> Self {
        Self {
            options,
            idle: Mutex::default(),
            permits: Semaphore::new(at_most.clamp(1, Semaphore::MAX_PERMITS)),
        }
    }

    /// Waits for a connection to be free, in the order of the calls.
    ///
    /// # Errors
    /// Those of connecting; `PoolClosed` after [`close`](Self::close).
    pub(crate) async fn take(&self) -> Result<Held<'_, C>, sqlx::Error> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        Ok(Held {
            connection: Some(connection),
            set: self,
            _permit: permit,
        })
    }

    /// Closes all that are idle; those in use are closed when they are given back.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.lock());
        for connection in idle {
            // What it was for is over; nothing that it could report matters any more.
            let _ = connection.close().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<C>> {
        // Nothing panics while the lock is held, and a vector would be whole if something did.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connection> fmt::Debug for Connections<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("idle", &self.lock().len())
            .finish_non_exhaustive()
    }
}

/// A connection on loan. Dropping it gives it back, also in the middle of a statement: the connection's
/// own thread notices that nobody takes its rows, and ends the statement before it begins another.
#[derive(Debug)]
pub(crate) struct Held<'a, C: Connection> {
    connection: Option<C>,
    set: &'a Connections<C>,
    _permit: SemaphorePermit<'a>,
}

impl<C: Connection> Held<'_, C> {
    /// Drops the connection instead of giving it back: it is broken.
    pub(crate) fn discard(mut self) {
        self.connection = None;
    }
}

impl<C: Connection> Drop for Held<'_, C> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.set.permits.is_closed()
        {
            self.set.lock().push(connection);
        }
    }
}

impl<C: Connection> Deref for Held<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.connection
            .as_ref()
            .expect("taken only by discard and drop")
    }
}

impl<C: Connection> DerefMut for Held<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        self.connection
            .as_mut()
            .expect("taken only by discard and drop")
    }
}
