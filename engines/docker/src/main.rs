//! Runs a server in Docker for as long as somebody holds the other end of standard input.
//!
//! `engines-docker IMAGE` prints two lines when the server has answered: its URL, and its engine with the version.
//! `cargo xtask` builds and starts it where a Docker engine answers.

mod answer;
mod images;

use std::io::{self, Read as _};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Error, Result, bail};
use testcontainers::core::{CmdWaitFor, ExecCommand, IntoContainerPort as _};
use testcontainers::runners::SyncRunner as _;
use testcontainers::{Container, GenericImage, ImageExt as _};

use images::{Protocol, Sql};

/// From the container's start to the server's first answer; the download of its image comes before.
const READY_WITHIN: Duration = Duration::from_mins(3);
const PAUSE: Duration = Duration::from_millis(100);

/// Nobody but this machine reaches the server, and nothing is in it.
const PASSWORD: &str = "of-a-test-server";

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(image) = images::named(&name) else {
        bail!(
            "usage: engines-docker IMAGE, which is one of {}",
            images::names()
        );
    };
    let (repository, tag) = image.source.parts().map_err(Error::msg)?;
    let mut request = GenericImage::new(&repository, &tag)
        .with_exposed_port(image.port.tcp())
        .with_startup_timeout(READY_WITHIN);
    if let Protocol::Sql(sql) = &image.protocol {
        request = request.with_env_var(sql.password_variable, PASSWORD);
    }
    let command = image.command();
    if !command.is_empty() {
        request = request.with_cmd(command);
    }
    let container = request
        .start()
        .with_context(|| format!("cannot start {repository}:{tag}"))?;
    let host = container.get_host()?.to_string();
    let port = container.get_host_port_ipv4(image.port.tcp())?;
    // Not a line of its log, which may come too soon.
    let version = first_answer(image.engine, || match &image.protocol {
        Protocol::Sql(sql) => query(&container, sql),
        Protocol::Http => Ok(answer::http(&host, port).map(|()| tag.clone())),
        Protocol::Grpc => Ok(answer::http2(&host, port).map(|()| tag.clone())),
    })?;
    println!("{}", image.url(PASSWORD, &host, port));
    println!("{} {version}", image.engine);
    // The end of the input is the order to end; dropped, the container is removed.
    io::stdin().read_to_end(&mut Vec::new())?;
    drop(container);
    Ok(())
}

/// The server's version, when it has answered.
fn first_answer(engine: &str, ask: impl Fn() -> Result<Result<String, String>>) -> Result<String> {
    let until = Instant::now() + READY_WITHIN;
    loop {
        match ask()? {
            Ok(version) => return Ok(version),
            Err(trouble) if Instant::now() > until => {
                bail!("{engine} does not answer: {trouble}");
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Asks a database for its version. The images start a server to set it up, and stop it again, before they start the
/// one that stays; only the latter listens on TCP.
fn query(container: &Container<GenericImage>, sql: &Sql) -> Result<Result<String, String>> {
    let query = ExecCommand::new(sql.query.iter().copied())
        .with_env_vars([(sql.client_password_variable, PASSWORD)])
        .with_cmd_ready_condition(CmdWaitFor::exit());
    let mut answer = container.exec(query)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    if answer.exit_code()? != Some(0) {
        return Ok(Err(text(answer.stderr_to_vec()?)));
    }
    let version = text(answer.stdout_to_vec()?);
    let end = version.find([' ', '-']).unwrap_or(version.len());
    Ok(Ok(version[..end].to_owned()))
}
