//! Runs a database server in Docker for as long as somebody holds the other end of standard input.
//!
//! `engines-docker IMAGE` prints two lines when the server has answered a query: its URL, and its engine with
//! the version. `cargo xtask` builds and starts it where a Docker engine answers.

mod images;

use std::io::{self, Read as _};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use testcontainers::core::{CmdWaitFor, ExecCommand, IntoContainerPort as _};
use testcontainers::runners::SyncRunner as _;
use testcontainers::{Container, GenericImage, ImageExt as _};

use images::Image;

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
    let container = GenericImage::new(image.repository, image.tag)
        .with_exposed_port(image.port.tcp())
        .with_env_var(image.password_variable, PASSWORD)
        .with_startup_timeout(READY_WITHIN)
        .with_cmd(image.arguments())
        .start()
        .with_context(|| format!("cannot start {}:{}", image.repository, image.tag))?;
    let version = first_answer(&container, image)?;
    let host = container.get_host()?;
    let port = container.get_host_port_ipv4(image.port.tcp())?;
    println!("{}", image.url(PASSWORD, &host.to_string(), port));
    println!("{} {version}", image.engine);
    // The end of the input is the order to end; dropped, the container is removed.
    io::stdin().read_to_end(&mut Vec::new())?;
    drop(container);
    Ok(())
}

/// Waits for the answer to a real query. The images start a server to set it up, and stop it again, before
/// they start the one that stays; only the latter listens on TCP.
fn first_answer(container: &Container<GenericImage>, image: &Image) -> Result<String> {
    let until = Instant::now() + READY_WITHIN;
    loop {
        let query = ExecCommand::new(image.query.iter().copied())
            .with_env_vars([(image.client_password_variable, PASSWORD)])
            .with_cmd_ready_condition(CmdWaitFor::exit());
        let mut answer = container.exec(query)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        if answer.exit_code()? == Some(0) {
            let version = text(answer.stdout_to_vec()?);
            let end = version.find([' ', '-']).unwrap_or(version.len());
            return Ok(version[..end].to_owned());
        }
        if Instant::now() > until {
            bail!(
                "{} does not answer: {}",
                image.engine,
                text(answer.stderr_to_vec()?)
            );
        }
        thread::sleep(PAUSE);
    }
}
