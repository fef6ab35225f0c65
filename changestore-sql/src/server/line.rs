//! Where connections come from, and one that is held.

use std::fmt;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{ConnectOptions as _, Connection, Database, Pool};
use tokio::time::Instant;

use super::alarm::Alarm;

/// A connection that was not used for so long is asked whether it is still there: if the server was
/// restarted meanwhile, a write sent on it would be a write of which nobody knows the outcome.
const TRUSTED_FOR: Duration = Duration::from_secs(2);
/// For how long it may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// An idle connection of the store's own is closed after this long …
const OWN_IDLE: Duration = Duration::from_mins(5);
/// … and one of the user's pool goes back there.
const POOLED_IDLE: Duration = Duration::from_secs(1);

/// Where connections come from.
pub(crate) enum Source<DB: Database> {
    Own(Box<<DB::Connection as Connection>::Options>),
    Pool(Pool<DB>),
}

impl<DB: Database> Source<DB> {
    pub(super) async fn connect(&self) -> Result<Line<DB>, sqlx::Error> {
        let held = match self {
            Self::Own(options) => Held::Own(options.connect().await?),
            Self::Pool(pool) => Held::Pooled(pool.acquire().await?),
        };
        Ok(Line {
            held,
            alarm: Alarm::new(),
            used: Instant::now(),
            is_doubtful: false,
        })
    }

    /// How long a connection may be idle.
    pub(super) fn idle(&self) -> Duration {
        match self {
            Self::Own(_) => OWN_IDLE,
            Self::Pool(_) => POOLED_IDLE,
        }
    }

    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }
}

/// Without the options, which hold the password.
impl<DB: Database> fmt::Debug for Source<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own(_) => "Own",
            Self::Pool(_) => "Pool",
        })
    }
}

/// A connection on which nothing is under way.
pub(super) struct Line<DB: Database> {
    held: Held<DB>,
    alarm: Alarm,
    used: Instant,
    is_doubtful: bool,
}

enum Held<DB: Database> {
    Own(DB::Connection),
    Pooled(PoolConnection<DB>),
}

impl<DB: Database> Held<DB> {
    fn connection(&mut self) -> &mut DB::Connection {
        match self {
            Self::Own(connection) => connection,
            Self::Pooled(connection) => connection,
        }
    }
}

impl<DB: Database> Line<DB> {
    pub(super) fn connection(&mut self) -> &mut DB::Connection {
        self.held.connection()
    }

    /// The connection, and the timer of what is done on it.
    pub(super) fn connection_and_alarm(&mut self) -> (&mut DB::Connection, &mut Alarm) {
        (self.held.connection(), &mut self.alarm)
    }

    /// Says that the server has just answered.
    pub(super) fn touch(&mut self) {
        self.used = Instant::now();
        self.is_doubtful = false;
    }

    /// Whether a statement may be under way on it, or it may be broken.
    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Says that another connection was found broken.
    pub(super) fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    pub(super) fn is_idle_for(&self, duration: Duration) -> bool {
        self.used.elapsed() >= duration
    }

    /// Whether the server is still there, as far as a connection that was used just now need not be asked.
    pub(super) async fn is_alive(&mut self, deadline: Instant) -> bool {
        if !self.is_doubtful && !self.is_idle_for(TRUSTED_FOR) {
            return true;
        }
        // Until the answer is there: a caller may go away in the middle of this, too, and the driver would take the answer
        // for that of the next statement.
        self.is_doubtful = true;
        let limit = deadline.min(Instant::now() + ANSWER);
        let ping = Box::pin(self.held.connection().ping());
        let is_alive = matches!(self.alarm.limit(limit, ping).await, Some(Ok(())));
        if is_alive {
            self.touch();
        }
        is_alive
    }

    /// Drops a broken connection, or one in the middle of a statement.
    pub(super) fn discard(self) {
        if let Held::Pooled(connection) = self.held {
            // Out of the pool for good.
            drop(connection.detach());
        }
    }

    /// Says that the session will not be what the user's pool has made it: the connection never goes back there.
    pub(super) fn alter(&mut self) {
        if let Held::Pooled(connection) = &mut self.held {
            connection.close_on_drop();
        }
    }

    /// Closes the connection, or gives it back to the user's pool.
    pub(super) async fn close(self) {
        match self.held {
            // There is nobody to tell, and nothing that could be lost.
            Held::Own(connection) => drop(connection.close().await),
            Held::Pooled(connection) => drop(connection),
        }
    }
}
