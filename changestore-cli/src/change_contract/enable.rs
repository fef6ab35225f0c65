//! `changestore change-contract enable`.

use changestore_sql::contract::Enabled;

use super::args::EnableArgs;
use super::lines::PositionText;
use super::{open, plan};
use crate::failure::{Failure, Result};
use crate::output::{Output, Printable};

/// Runs the command.
pub(super) async fn run(args: &EnableArgs, output: &mut Output) -> Result<()> {
    let plan = plan::plan(args)?;
    let owner = open(&args.database).await?;
    // It is the database that a table is missing in, or cannot be tracked.
    let enabled = owner.enable(&plan).await.map_err(Failure::failed)?;
    if output.is_json() {
        output.object(&enabled)?;
        return Ok(());
    }
    print(&enabled, output)
}

fn print(enabled: &Enabled, output: &mut Output) -> Result<()> {
    let retention = enabled.retention;
    if enabled.created {
        output.line(format_args!("created    retention {retention}"))?;
    }
    if enabled.is_unchanged() {
        output.line(format_args!("unchanged  retention {retention}"))?;
    }
    for (what, tables) in [
        ("added", &enabled.added),
        ("removed", &enabled.removed),
        ("re-armed", &enabled.rearmed),
    ] {
        for table in tables {
            output.line(format_args!("{what:<9}  {}", Printable(table)))?;
        }
    }
    if enabled.retention_changed {
        output.line(format_args!("retention  changed to {retention}"))?;
    }
    if enabled.families_changed {
        output.line(format_args!("families   changed"))?;
    }
    Ok(output.line(format_args!(
        "cursor     {}",
        PositionText(&enabled.position)
    ))?)
}
