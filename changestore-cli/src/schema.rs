//! `changestore schema`: what the store needs before it can be used.

use serde::Serialize;

use crate::backend::StoreUrl;
use crate::cli::SchemaCommand;
use crate::failure::Result;
use crate::output::Output;

#[derive(Serialize)]
struct StepLine<'a> {
    version: i64,
    name: &'a str,
    sql: &'a str,
}

#[derive(Serialize)]
struct AppliedLine {
    /// 0 where the store needs no schema.
    version: i64,
}

/// Runs the command.
pub(crate) async fn run(
    store: &StoreUrl,
    command: &SchemaCommand,
    output: &mut Output,
) -> Result<()> {
    let steps = store.schema();
    match command {
        SchemaCommand::Print => {
            for step in &steps {
                if output.is_json() {
                    let (version, name, sql) = (step.version, step.name, step.sql);
                    output.object(&StepLine { version, name, sql })?;
                } else {
                    output.line(format_args!("-- {}: {}", step.version, step.name))?;
                    output.line(format_args!("{}", step.sql.trim_end()))?;
                }
            }
            if steps.is_empty() && !output.is_json() {
                output.line(format_args!("-- {}: needs no schema", store.scheme()))?;
            }
        }
        SchemaCommand::Apply => {
            store.apply_schema().await?;
            let version = steps.last().map_or(0, |step| step.version);
            if output.is_json() {
                output.object(&AppliedLine { version })?;
            } else if steps.is_empty() {
                output.line(format_args!("{}: needs no schema", store.scheme()))?;
            } else {
                output.line(format_args!("{}: schema version {version}", store.scheme()))?;
            }
        }
    }
    Ok(())
}
