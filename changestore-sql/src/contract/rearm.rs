//! Arming again by whoever opens the database for writing.

use changestore_core::Result;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use super::failure::failed;
use super::install::enable;
use super::objects::{Presence, presence};
use super::plan::ContractPlan;

/// Arms what a migration has disarmed, if there is a whole contract; creates nothing. Without a contract it
/// is one look at the schema.
///
/// The transaction takes the write lock only when it finds something to be done, so one that does not is in
/// nobody's way. One that meets another writer then fails as retryable, and has changed nothing.
pub(crate) async fn rearm(connection: &mut SqliteConnection) -> Result<()> {
    let is_there: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'change_contract_state')",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(failed)?;
    if !is_there {
        return Ok(());
    }
    let mut transaction = connection.begin().await.map_err(failed)?;
    let result = arm(&mut transaction).await;
    match result {
        Ok(()) => transaction.commit().await.map_err(failed),
        Err(error) => {
            // SQLite may have done it already.
            let _ = transaction.rollback().await;
            Err(error)
        }
    }
}

async fn arm(connection: &mut SqliteConnection) -> Result<()> {
    if presence(connection).await? == Presence::Whole {
        enable(connection, &ContractPlan::new()).await?;
    }
    Ok(())
}
