//! `changestore change-contract status`: what there is, as a table for people.

use std::fmt::Display;

use changestore_sql::contract::{Presence, Status, TableStatus};

use super::lines::PositionText;
use crate::failure::Result;
use crate::output::{Output, Printable};

/// Prints what the owner wants to know.
pub(super) fn print(status: &Status, output: &mut Output) -> Result<()> {
    if output.is_json() {
        return Ok(output.object(status)?);
    }
    match status.presence {
        Presence::Absent => return Ok(output.line(format_args!("no change contract"))?),
        Presence::Partial => {
            let remedy = "enable replaces it with a new one";
            return Ok(output.line(format_args!("parts of a change contract; {remedy}"))?);
        }
        Presence::Whole => {}
    }
    summary(status, output)?;
    tables(&status.tables, output)?;
    for (family, tables) in &status.families {
        let names: Vec<_> = tables
            .iter()
            .map(|name| Printable(name).to_string())
            .collect();
        let family = Printable(family);
        output.line(format_args!("family     {family}: {}", names.join(", ")))?;
    }
    for warning in &status.warnings {
        output.line(format_args!("warning    {}", Printable(warning)))?;
    }
    Ok(())
}

fn summary(status: &Status, output: &mut Output) -> Result<()> {
    if let Some(position) = &status.position {
        output.line(format_args!("cursor     {}", PositionText(position)))?;
    }
    if let Some(reason) = &status.generation_reason {
        output.line(format_args!("reason     {}", Printable(reason)))?;
    }
    let entries = number(status.log_entries);
    let (retention, pruned) = (number(status.retention), number(status.pruned_through));
    Ok(output.line(format_args!(
        "log        {entries} entries, retention {retention}, pruned through {pruned}"
    ))?)
}

fn number(known: Option<impl Display>) -> String {
    known.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

/// One line per table, in columns.
fn tables(tables: &[TableStatus], output: &mut Output) -> Result<()> {
    let mut lines = vec![["table", "mode", "key", "last seq", "armed"].map(str::to_owned)];
    lines.extend(tables.iter().map(|table| {
        [
            Printable(&table.name).to_string(),
            table.mode.to_string(),
            match &*table.key_columns {
                [] => "-".to_owned(),
                names => Printable(&names.join(", ")).to_string(),
            },
            table.last_seq.to_string(),
            match &table.unarmed {
                None => "yes".to_owned(),
                Some(why) => format!("no: {}", Printable(why)),
            },
        ]
    }));
    let width = |column: usize| {
        let cells = lines.iter().map(|cells| cells[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let [names, modes, keys, seqs] = [width(0), width(1), width(2), width(3)];
    for [name, mode, key, seq, armed] in &lines {
        output.line(format_args!(
            "{name:<names$}  {mode:<modes$}  {key:<keys$}  {seq:<seqs$}  {armed}"
        ))?;
    }
    Ok(())
}
