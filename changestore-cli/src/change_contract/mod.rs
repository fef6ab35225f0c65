//! `changestore change-contract`: which rows of an SQLite database changed, for its owner and its readers.

mod args;
mod changes;
mod cursor_lock;
mod cursor_place;
mod enable;
mod lines;
mod plan;
mod status;

use anyhow::{Error, anyhow};
use changestore_core::ErrorKind;
use changestore_sql::contract::{ContractOwner, SchemaGuard};
use serde::Serialize;

use crate::backend::names_a_user;
use crate::failure::{Failure, Result};
use crate::output::{Output, Printable};

pub(crate) use args::ChangeContractCommand;
use args::Database;
use lines::PositionText;

#[derive(Serialize)]
struct DisabledLine {
    /// False if there was no contract.
    disabled: bool,
}

#[derive(Serialize)]
struct ExportedLine<'a> {
    exported: &'a str,
}

/// Runs the command.
pub(crate) async fn run(command: &ChangeContractCommand, output: &mut Output) -> Result<()> {
    // What comes next repeats the path, which is not to hold a password.
    if names_a_user(&command.db().to_string_lossy()) {
        return Err(Failure::usage(anyhow!(
            "--db takes the path of an SQLite database, not a URL with a user or password"
        )));
    }
    match command {
        ChangeContractCommand::Status { database } => {
            // Whoever only looks may look at anything.
            let guard = guard(database, SchemaGuard::Unchecked);
            let owner = ContractOwner::open(&database.db, guard).await?;
            status::print(&owner.status().await?, output)
        }
        ChangeContractCommand::Enable(args) => enable::run(args, output).await,
        ChangeContractCommand::Bump { database, reason } => {
            let position = open(database).await?.bump(reason).await?;
            if output.is_json() {
                output.object(&position)?;
            } else {
                output.line(format_args!("bumped     {}", PositionText(&position)))?;
            }
            Ok(())
        }
        ChangeContractCommand::Disable { database } => {
            let disabled = open(database).await?.disable().await?;
            if output.is_json() {
                output.object(&DisabledLine { disabled })?;
            } else if disabled {
                output.line(format_args!("disabled"))?;
            } else {
                output.line(format_args!("there was no change contract"))?;
            }
            Ok(())
        }
        ChangeContractCommand::Export { database, to } => {
            open(database).await?.export(to).await?;
            let to = to.to_string_lossy();
            if output.is_json() {
                output.object(&ExportedLine { exported: &to })?;
            } else {
                output.line(format_args!("exported   {}", Printable(&to)))?;
            }
            Ok(())
        }
        ChangeContractCommand::Changes(args) => changes::run(args, output).await,
    }
}

/// The owner's side of a database with the schema that the caller means.
async fn open(database: &Database) -> Result<ContractOwner> {
    let guard = guard(database, SchemaGuard::OurMigrations);
    let opened = ContractOwner::open(&database.db, guard).await;
    opened.map_err(|error| {
        let is_another_schema = *error.kind() == ErrorKind::Configuration
            && guard == SchemaGuard::OurMigrations
            && database.db.is_file();
        if is_another_schema {
            let hint = "not a store of this version's; --user-version N is for any other database";
            let db = database.db.display();
            return Failure::failed(Error::new(error).context(format!("{db}: {hint}")));
        }
        error.into()
    })
}

fn guard(database: &Database, default: SchemaGuard) -> SchemaGuard {
    database
        .user_version
        .map_or(default, SchemaGuard::UserVersion)
}
