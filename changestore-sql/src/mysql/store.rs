//! Opening, migrating and closing a store on MySQL or MariaDB.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Error, ErrorKind, Operation, Result};
use sqlx::mysql::{MySqlConnection, MySqlPool};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, query};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::codes::MYSQL;
use super::engine::MySqlEngine;
use super::migrate::{self, failed};
use super::options::{MySqlOptions, Origin};
use super::session;
use super::tables::Tables;
use crate::flow::call::Call;
use crate::flow::contracts::implement;
use crate::server::{Server, Source};

/// Both contracts on MySQL 8 or MariaDB 10.6 and newer. Cheap to clone; the clones share everything.
///
/// The crate's page says how it behaves. It works on the tokio runtime that it was opened on, and only as
/// long as that lives.
#[derive(Clone)]
pub struct MySqlStore(Arc<Server<MySqlEngine>>);

implement!(MySqlStore);

/// The largest value, with the longest key, and what a batch of creates has on top of it.
const SMALLEST_PACKET: u64 = 2 << 20;

const SERVER: &str = "SELECT CAST(@@max_allowed_packet AS UNSIGNED), DATABASE() IS NOT NULL";

impl MySqlStore {
    /// Opens the store in the database of this URL ([`MySqlOptions::new`]), and applies the migrations that it
    /// lacks.
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(MySqlOptions::new(url)?).await
    }

    /// Opens the store as the options say. Of a database that is named by its URL the schema is brought up to date;
    /// of a pool's it is checked.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) where the server cannot be reached within the connect timeout;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) where it does not let in, or may not create tables;
    /// [`Configuration`](ErrorKind::Configuration) where there is no such database, where its schema is newer than
    /// this library's (or, of a pool, missing or older), and where the server's `max_allowed_packet` is below 2 MiB.
    pub async fn open_with(options: MySqlOptions) -> Result<Self> {
        let MySqlOptions {
            origin,
            tables,
            settings,
        } = options;
        let engine = MySqlEngine::new(&tables);
        let patience = settings.operation_timeout;
        let work = async {
            check_runtime()?;
            let source = match origin {
                Origin::Server(server) => {
                    let connect = in_time(settings.connect_timeout, server.connect());
                    let mut connection = connect.await?;
                    set_up(&mut connection).await?;
                    migrate::apply(&mut connection, &tables, patience).await?;
                    // It has done its work, whatever becomes of the farewell.
                    let _ = connection.close().await;
                    Source::Own(server)
                }
                Origin::Pool(pool) => {
                    let mut connection = pool.acquire().await.map_err(failed)?;
                    let checked = check(&mut connection, &tables).await;
                    let _ = connection.close().await;
                    checked?;
                    Source::Pool(pool)
                }
            };
            Server::new(engine, source, settings)
        };
        let server = call(Operation::Open).run(work).await?;
        Ok(Self(Arc::new(server)))
    }

    /// A store on the user's own pool, with the system's clock: [`MySqlOptions::from_pool`].
    ///
    /// # Errors
    /// Those of [`open_with`](Self::open_with).
    pub async fn from_pool(pool: MySqlPool) -> Result<Self> {
        Self::open_with(MySqlOptions::from_pool(pool)).await
    }

    /// Applies to the pool's database the migrations that it lacks. The user's own migrations, sqlx's or another
    /// tool's, are not touched. Several processes may do so at once.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) for a schema newer than this library's; those of
    /// the database.
    pub async fn migrate(pool: &MySqlPool) -> Result<()> {
        Self::migrate_with(MySqlOptions::from_pool(pool.clone())).await
    }

    /// As [`migrate`](Self::migrate), in the database and with the table prefix of the options.
    ///
    /// # Errors
    /// Those of [`migrate`](Self::migrate).
    pub async fn migrate_with(options: MySqlOptions) -> Result<()> {
        let MySqlOptions {
            origin,
            tables,
            settings,
        } = options;
        let patience = settings.operation_timeout;
        let work = async {
            check_runtime()?;
            match origin {
                Origin::Server(server) => {
                    let connect = in_time(settings.connect_timeout, server.connect());
                    let mut connection = connect.await?;
                    set_up(&mut connection).await?;
                    migrate::apply(&mut connection, &tables, patience).await
                }
                Origin::Pool(pool) => {
                    let mut connection = pool.acquire().await.map_err(failed)?;
                    let migrated = async {
                        set_up(&mut connection).await?;
                        migrate::apply(&mut connection, &tables, patience).await
                    };
                    let migrated = migrated.await;
                    let _ = connection.close().await;
                    migrated
                }
            }
        };
        call(Operation::Migrate).run(work).await
    }

    /// Waits until all that was begun is done, and closes the connections. Every later call, of the
    /// clones as well, is refused as [`Unavailable`](ErrorKind::Unavailable). A pool of the user's stays
    /// open.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Deletes all records and counters that expired more than 24 hours ago, and says how many there
    /// were. They have long been absent to every operation; this frees their space at once, which
    /// writes do little by little.
    ///
    /// # Errors
    /// Those of the server.
    pub async fn collect_expired(&self) -> Result<u64> {
        call(Operation::CollectExpired)
            .run(self.0.collect_expired())
            .await
    }
}

impl fmt::Debug for MySqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MySqlStore").field(&self.0).finish()
    }
}

/// What concerns the whole store has no key.
fn call(operation: Operation) -> Call<&'static str> {
    Call::new(MYSQL.backend, operation, None)
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

async fn in_time(
    limit: Duration,
    connect: impl Future<Output = Result<MySqlConnection, sqlx::Error>>,
) -> Result<MySqlConnection> {
    match timeout(limit, connect).await {
        Ok(connected) => connected.map_err(failed),
        Err(_elapsed) => Err(Error::new(ErrorKind::Unavailable)
            .with_message(format!("the server did not answer within {limit:?}"))),
    }
}

/// Sets up a connection, and refuses a server that cannot be used.
async fn set_up(connection: &mut MySqlConnection) -> Result<()> {
    session::prepare(connection).await.map_err(failed)?;
    let server = query(SERVER).fetch_one(connection).await.map_err(failed)?;
    let packet: u64 = server.try_get(0).map_err(failed)?;
    if packet < SMALLEST_PACKET {
        return Err(Error::new(ErrorKind::Configuration).with_message(format!(
            "the server's max_allowed_packet is {packet} bytes; the largest records need \
             {SMALLEST_PACKET}"
        )));
    }
    if !server.try_get::<bool, _>(1).map_err(failed)? {
        return Err(Error::new(ErrorKind::Configuration)
            .with_message("the pool's connections are in no database"));
    }
    Ok(())
}

async fn check(connection: &mut MySqlConnection, tables: &Tables) -> Result<()> {
    set_up(connection).await?;
    migrate::check(&migrate::state(connection, tables).await?)
}
