//! Opening, migrating and closing a store on MySQL or MariaDB.

use std::fmt;
use std::sync::Arc;

use changestore_core::{Operation, Result};
use futures::FutureExt as _;
use sqlx::mysql::MySqlPool;

use super::codes::MYSQL;
use super::engine::MySqlEngine;
use super::options::MySqlOptions;
use super::{migrate, session};
use crate::flow::call::Call;
use crate::flow::contracts;
use crate::server::Server;

/// Both contracts in one database of MySQL or MariaDB. Cheap to clone; the clones share everything.
///
/// The crate's page says how it behaves. It works on the tokio runtime that it was opened on, and only as
/// long as that lives.
#[derive(Clone)]
pub struct MySqlStore(Arc<Server<MySqlEngine>>);

impl MySqlStore {
    /// Opens the store in the database at this URL ([`MySqlOptions::new`]). The schema is checked and not
    /// touched: see [`migrate_with`](Self::migrate_with).
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(MySqlOptions::new(url)?).await
    }

    /// Opens the store as the options say.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) where there is no such database, where its
    /// schema is missing, older or newer than this library's, and where the server's `max_allowed_packet` is
    /// below 2 MiB, each of which it says;
    /// [`PermissionDenied`](changestore_core::ErrorKind::PermissionDenied) for a wrong password or a missing
    /// right; [`Unavailable`](changestore_core::ErrorKind::Unavailable) where the server cannot be reached.
    pub async fn open_with(options: MySqlOptions) -> Result<Self> {
        let work = async {
            let server = server(&options)?;
            let tables = options.tables;
            let state = server
                .with_connection(move |connection| {
                    async move {
                        session::check(connection).await?;
                        migrate::state(connection, &tables).await
                    }
                    .boxed()
                })
                .await?;
            migrate::check(&state)?;
            Ok(Self(Arc::new(server)))
        };
        call(Operation::Open).run(work).await
    }

    /// A store on the user's own pool, with the defaults of [`MySqlOptions::from_pool`].
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn from_pool(pool: MySqlPool) -> Result<Self> {
        Self::open_with(MySqlOptions::from_pool(pool)).await
    }

    /// Applies to the pool's database the migrations that it lacks ([`migrate_with`](Self::migrate_with)).
    ///
    /// # Errors
    /// Those of [`migrate_with`](Self::migrate_with).
    pub async fn migrate(pool: &MySqlPool) -> Result<()> {
        Self::migrate_with(MySqlOptions::from_pool(pool.clone())).await
    }

    /// Applies the migrations that the database lacks. Several processes may do so at once: one does, and the
    /// others wait for it. If that one is interrupted the next goes on. The user's own migrations, sqlx's or
    /// another tool's, are not touched.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for a schema newer than this
    /// library's; [`Unavailable`](changestore_core::ErrorKind::Unavailable) if another process migrates the
    /// database for longer than the operation timeout; those of the database.
    pub async fn migrate_with(options: MySqlOptions) -> Result<()> {
        let work = async {
            let server = server(&options)?;
            let patience = options.settings.operation_timeout;
            let tables = options.tables;
            let migrated = server
                .with_connection(move |connection| {
                    async move {
                        session::check(connection).await?;
                        migrate::apply(connection, &tables, patience).await
                    }
                    .boxed()
                })
                .await;
            server.close().await;
            migrated
        };
        call(Operation::Migrate).run(work).await
    }

    /// Waits until all operations that were begun are done, and closes the connections, those of a user's pool
    /// included; the pool stays open. Every later call, of the clones as well, is refused as
    /// [`Unavailable`](changestore_core::ErrorKind::Unavailable).
    ///
    /// Dropping the last clone lets what was begun end in the background.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Deletes all records and counters that expired more than 24 hours ago, and says how many there
    /// were. They have long been absent to every operation; this frees their space at once, which
    /// writes do little by little. Other operations go on between its steps.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn collect_expired(&self) -> Result<u64> {
        call(Operation::CollectExpired)
            .run(self.0.collect_expired())
            .await
    }
}

contracts::implement!(MySqlStore);

impl fmt::Debug for MySqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MySqlStore").field(&self.0).finish()
    }
}

fn server(options: &MySqlOptions) -> Result<Server<MySqlEngine>> {
    let engine = MySqlEngine::new(&options.tables);
    Server::new(engine, options.source(), options.settings.clone())
}

/// A call that has no key.
fn call(operation: Operation) -> Call<&'static str> {
    Call::new(MYSQL.backend, operation, None)
}
