#![doc = include_str!("../README.md")]

mod backend;
#[cfg(feature = "sqlite")]
mod change_contract;
mod claim;
mod cli;
mod doc;
mod failure;
mod interrupt;
mod output;
mod schema;
mod text;
mod time;
mod validate;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{CommandFactory, Parser};

use backend::{Access, StoreUrl};
use cli::{Cli, Command};
use failure::{Failure, Result};
use output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[tokio::main(worker_threads = 2)]
async fn run(cli: &Cli) -> Result<()> {
    let mut output = Output::new(cli.json);
    let store = || cli.store.parse::<StoreUrl>().map_err(bad_store);
    let done = match &cli.command {
        Command::Validate(args) => {
            let opened = store()?.open(Access::Write).await?;
            let done = validate::run(&opened.stores, args, &mut output).await;
            opened.close().await;
            done
        }
        Command::Claim(command) => {
            let opened = store()?.open(command.access()).await?;
            let done = claim::run(&*opened.stores.changes, command, &mut output).await;
            opened.close().await;
            done
        }
        Command::Doc(command) => {
            let opened = store()?.open(command.access()).await?;
            let done = doc::run(&*opened.stores.documents, command, &mut output).await;
            opened.close().await;
            done
        }
        Command::Schema(command) => schema::run(&store()?, command, &mut output).await,
        #[cfg(feature = "sqlite")]
        Command::ChangeContract(command) => change_contract::run(command, &mut output).await,
        Command::Completions { shell } => completions(*shell, &mut output),
    };
    let flushed = output.flush();
    done?;
    Ok(flushed?)
}

fn bad_store(reason: String) -> Failure {
    Failure::usage(anyhow!(reason).context("--store (or CHANGESTORE_STORE) is invalid"))
}

fn completions(shell: clap_complete::Shell, output: &mut Output) -> Result<()> {
    // Into memory first: the generator panics where its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "changestore", &mut script);
    Ok(output.raw(&script)?)
}
