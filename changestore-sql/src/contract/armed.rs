//! Whether a tracked table is armed: it has exactly the triggers that its present shape asks for.
//!
//! The owner's status and the reader both ask here, so that what the one shows the other says. What
//! the triggers should be follows from the table as it is now. A unique index that was added since, or another
//! key, therefore disarms a table whose triggers nobody has touched.

use std::collections::BTreeMap;

use changestore_core::{ErrorKind, Result};
use sqlx::sqlite::SqliteConnection;

use super::failure::failed;
use super::installed::{Definition, Installed};
use super::plan::Mode;
use super::tracked::Tracked;

/// The contract's triggers that the database has: table and SQL by name.
pub(super) type Armed = BTreeMap<String, (String, String)>;

/// Why the table is not armed, for people; none if it is.
pub(super) async fn why_unarmed(
    connection: &mut SqliteConnection,
    installed: &Installed,
    definition: &Definition,
    armed: &Armed,
) -> Result<Option<String>> {
    let mode = definition.mode.parse::<Mode>()?;
    match Tracked::find(connection, &definition.name, mode).await {
        Ok(table) => fault(connection, &table, installed, definition, armed).await,
        // It can be tracked no more.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidArgument { .. }) => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// What has to be armed again, of a table that can be tracked; none if nothing.
pub(super) async fn fault(
    connection: &mut SqliteConnection,
    table: &Tracked,
    installed: &Installed,
    definition: &Definition,
    armed: &Armed,
) -> Result<Option<String>> {
    if let Some(difference) = difference(table, installed, definition, armed) {
        return Ok(Some(difference));
    }
    let newer = overtaking(connection, &table.info.name).await?;
    Ok(newer.map(|trigger| {
        format!(
            "the trigger {trigger:?} is newer than the contract's, and run before them: if it fails with FAIL or \
             IGNORE, the row stays and goes unjournaled"
        )
    }))
}

/// A trigger of the user's that is run before the contract's: SQLite runs the newest first. The word is in each that is
/// run after the write; one that is run before it and has the word by chance is taken for one.
async fn overtaking(connection: &mut SqliteConnection, table: &str) -> Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT u.name FROM sqlite_schema u
         WHERE u.type = 'trigger' AND u.tbl_name = ?1 AND u.sql LIKE '%after%'
             AND u.name NOT LIKE 'change\\_contract\\_%' ESCAPE '\\'
             AND u.rowid > (
                 SELECT min(c.rowid) FROM sqlite_schema c
                 WHERE c.type = 'trigger' AND c.tbl_name = ?1
                     AND c.name LIKE 'change\\_contract\\_%' ESCAPE '\\')
         LIMIT 1",
    )
    .bind(table)
    .fetch_optional(connection)
    .await
    .map_err(failed)
}

fn difference(
    table: &Tracked,
    installed: &Installed,
    definition: &Definition,
    armed: &Armed,
) -> Option<String> {
    if table.key_columns() != definition.key_columns {
        return Some("its key is another one than was recorded".to_owned());
    }
    let expected = table.triggers(definition.id);
    let three = [&expected.insert, &expected.update, &expected.delete];
    let mut named = definition.triggers.iter().zip(three);
    if definition.name != table.info.name || definition.mode != table.mode.as_str() {
        return Some("it is recorded with another name or mode".to_owned());
    }
    for trigger in expected.all() {
        match armed.get(&trigger.name) {
            None => return Some(format!("the trigger {} is missing", trigger.name)),
            Some((on, _)) if *on != table.info.name => {
                return Some(format!("the trigger {} is on the table {on}", trigger.name));
            }
            Some((_, sql)) if *sql != trigger.sql => {
                return Some(format!(
                    "the trigger {} was altered, or the table has another shape now",
                    trigger.name
                ));
            }
            Some(_) => {}
        }
        let recorded = installed.triggers.get(&trigger.name);
        if recorded.is_none_or(|(id, sql)| *id != definition.id || *sql != trigger.sql) {
            return Some(format!(
                "the trigger {} is not the recorded one",
                trigger.name
            ));
        }
    }
    let recorded = installed.triggers.values();
    let count = recorded.filter(|(id, _)| *id == definition.id).count();
    let are_these = named.all(|(named, trigger)| named.as_ref() == Some(&trigger.sql));
    (!are_these || count != expected.all().count())
        .then(|| "other triggers than its own are recorded for it".to_owned())
}
