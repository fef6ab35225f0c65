//! What the SQL databases have in common here.

use changestore_core::Error;
use changestore_sql::schema::Migration;

use super::SchemaStep;

/// What is wrong with a URL, without the words around it that speak of a database.
pub(super) fn message_of(error: &Error) -> String {
    error
        .message()
        .map_or_else(|| error.to_string(), str::to_owned)
}

pub(super) fn steps(migrations: &'static [Migration]) -> Vec<SchemaStep> {
    let steps = migrations.iter().map(|step| SchemaStep {
        version: step.version,
        name: step.name,
        sql: step.sql,
    });
    steps.collect()
}
