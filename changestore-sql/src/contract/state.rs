//! Changes of the contract's own numbers: its generation and its retention.

use changestore_core::Result;
use sqlx::sqlite::SqliteConnection;

use super::failure::failed;

/// Makes every reader read everything once.
pub(super) async fn advance_generation(
    connection: &mut SqliteConnection,
    reason: String,
) -> Result<()> {
    sqlx::query(
        "UPDATE change_contract_state SET generation = generation + 1, generation_reason = ?1",
    )
    .bind(reason)
    .execute(connection)
    .await
    .map_err(failed)?;
    Ok(())
}

/// Prunes to it at once. What was pruned under the old retention stays pruned.
pub(super) async fn set_retention(connection: &mut SqliteConnection, retention: i64) -> Result<()> {
    for sql in [
        "UPDATE change_contract_positions
         SET value = (SELECT pruned_through FROM change_contract_sequence) WHERE id = -1",
        "UPDATE change_contract_state SET retention = ?1",
        "UPDATE change_contract_positions SET value = ?1 WHERE id = -2",
        "DELETE FROM change_contract_entries
         WHERE seq <= (SELECT value FROM change_contract_sequence) - ?1",
        "UPDATE change_contract_positions
         SET value = max(value, (SELECT value FROM change_contract_sequence) - ?1) WHERE id = -1",
    ] {
        sqlx::query(sql)
            .bind(retention)
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
    }
    Ok(())
}
