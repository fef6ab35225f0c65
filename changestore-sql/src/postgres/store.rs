//! Opening, sharing and closing a store on PostgreSQL.

use std::fmt;
use std::sync::Arc;

use changestore_core::{Operation, Result};
use futures::FutureExt as _;
use sqlx::postgres::PgPool;

use super::codes::POSTGRES;
use super::engine::PostgresEngine;
use super::migrate;
use super::options::PostgresOptions;
use crate::flow::call::Call;
use crate::flow::contracts;
use crate::server::Server;

/// Both contracts in one PostgreSQL database. Cheap to clone; the clones share everything.
///
/// The crate's page says how it behaves. It works on the tokio runtime that it was opened on, and only as
/// long as that lives.
#[derive(Clone)]
pub struct PostgresStore(Arc<Server<PostgresEngine>>);

impl PostgresStore {
    /// Opens the store in the database at this URL ([`PostgresOptions::new`]). The schema is checked and not
    /// touched: see [`migrate_with`](Self::migrate_with).
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(PostgresOptions::new(url)?).await
    }

    /// Opens the store as the options say.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) where there is no such database, or
    /// its schema is missing, older or newer than this library's, which it says;
    /// [`PermissionDenied`](changestore_core::ErrorKind::PermissionDenied) for a wrong password or a missing
    /// right; [`Unavailable`](changestore_core::ErrorKind::Unavailable) where the server cannot be reached.
    pub async fn open_with(options: PostgresOptions) -> Result<Self> {
        let work = async {
            let server = server(&options)?;
            let tables = options.tables;
            let state = server
                .with_connection(move |connection| {
                    async move { migrate::state(connection, &tables).await }.boxed()
                })
                .await?;
            migrate::check(&state)?;
            Ok(Self(Arc::new(server)))
        };
        call(Operation::Open).run(work).await
    }

    /// A store on the user's own pool, with the defaults of [`PostgresOptions::from_pool`]. Connections are used
    /// as they are: the pool's options say what a session is like.
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn from_pool(pool: PgPool) -> Result<Self> {
        Self::open_with(PostgresOptions::from_pool(pool)).await
    }

    /// Applies to the pool's database the migrations that it lacks ([`migrate_with`](Self::migrate_with)).
    ///
    /// # Errors
    /// Those of [`migrate_with`](Self::migrate_with).
    pub async fn migrate(pool: &PgPool) -> Result<()> {
        Self::migrate_with(PostgresOptions::from_pool(pool.clone())).await
    }

    /// Applies the migrations that the database lacks, in one transaction, and creates the schema that the
    /// options name. Several processes may do so at once. The user's own migrations, sqlx's or
    /// another tool's, are not touched.
    ///
    /// # Errors
    /// [`Configuration`](changestore_core::ErrorKind::Configuration) for a schema newer than this
    /// library's; those of the database.
    pub async fn migrate_with(options: PostgresOptions) -> Result<()> {
        let work = async {
            let server = server(&options)?;
            let tables = options.tables;
            let migrated = server
                .with_connection(move |connection| {
                    async move { migrate::apply(connection, &tables).await }.boxed()
                })
                .await;
            server.close().await;
            migrated
        };
        call(Operation::Migrate).run(work).await
    }

    /// Waits until all operations that were begun are done, and closes the connections; those of a user's pool go
    /// back there. Every later call, of the clones as well, is refused as
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

contracts::implement!(PostgresStore);

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.0).finish()
    }
}

fn server(options: &PostgresOptions) -> Result<Server<PostgresEngine>> {
    let engine = PostgresEngine::new(&options.tables, options.protocol);
    Server::new(engine, options.source(), options.settings.clone())
}

/// A call that has no key.
fn call(operation: Operation) -> Call<&'static str> {
    Call::new(POSTGRES.backend, operation, None)
}
