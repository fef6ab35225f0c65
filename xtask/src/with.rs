//! `cargo xtask with`: a command with servers beside it.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::backends::{Backend, Row};
use crate::engine::{Fleet, Options};
use crate::process;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Start the server of this backend only; may be given several times.
    #[arg(long = "backend", value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Backend::names_with_engines()))]
    backends: Vec<String>,

    #[command(flatten)]
    engines: Options,

    /// The command.
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let wanted =
        |name| arguments.backends.is_empty() || arguments.backends.iter().any(|it| it == name);
    let rows: Vec<_> = Row::firsts()
        .filter(|row| wanted(row.backend.name))
        .collect();
    let fleet = Fleet::start(rows.iter().copied(), &arguments.engines);
    for row in &rows {
        fleet.wait(*row).with_context(|| row.name())?;
    }
    let mut command = Command::new(&arguments.command[0]);
    process::run(command.args(&arguments.command[1..]).envs(fleet.urls()))
}
