#![doc = include_str!("../README.md")]

#[cfg(feature = "sqlite")]
mod audience;
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
mod value;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{CommandFactory, Parser};

use backend::{Access, StoreUrl};
use cli::{Cli, Command};
use failure::{Failure, Result};
use interrupt::survive_file_size_limit;
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
    survive_file_size_limit();
    let mut output = Output::new(cli.json);
    let store = || cli.store.parse::<StoreUrl>().map_err(bad_store);
    // What is given is read first: opening a store to write creates it, which a typo should not.
    let done = match &cli.command {
        Command::Validate(args) => {
            let store = store()?;
            let input = validate::Input::open(&args.file).map_err(Failure::failed)?;
            let opened = store.open(Access::Write).await?;
            let done = validate::run(&opened.stores, input, args, &mut output).await;
            opened.close().await;
            done
        }
        Command::Claim(command) => {
            let store = store()?;
            let metadata = claim::read_input(command)?;
            let opened = store.open(command.access()).await?;
            let done = claim::run(&*opened.stores.changes, command, metadata, &mut output).await;
            opened.close().await;
            done
        }
        Command::Doc(command) => {
            let store = store()?;
            let data = doc::read_input(command)?;
            let opened = store.open(command.access()).await?;
            let done = doc::run(&*opened.stores.documents, command, data, &mut output).await;
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
