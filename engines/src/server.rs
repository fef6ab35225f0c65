//! A running server, whatever its engine.

use std::fmt;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::port;
use crate::supervisor::Supervisor;

/// How long a server may take to answer its first query; a loaded machine takes some seconds.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// Between two questions whether it is ready.
const PAUSE: Duration = Duration::from_millis(30);

/// How many ports are tried. Each is free when it is chosen.
const PORTS: usize = 5;

/// What an engine has to say to be started. What it needs of its folder is there before.
pub(crate) trait Engine: Send + Sync {
    /// Its name for people.
    fn name(&self) -> &'static str;

    /// The server's command line, in the foreground, on this port.
    fn command(&self, folder: &Folder, port: u16) -> Result<Command>;

    /// The signal that it stops in an orderly way on, without waiting for its clients.
    fn stop_signal(&self) -> &'static str {
        "TERM"
    }

    /// What its clients are given.
    fn url(&self, port: u16) -> String;

    /// Sends the server a query, as a client does: its version, or else what the client complains of.
    fn version(&self, port: u16) -> Result<Result<String, String>>;
}

/// A server that runs for as long as this is there.
pub struct Server {
    // Declared before the folder, hence ended before it is removed.
    running: Mutex<Option<Supervisor>>,
    folder: Folder,
    engine: Box<dyn Engine>,
    port: u16,
    version: String,
}

impl Server {
    /// Starts it and waits until it has answered a query.
    pub(crate) fn start(engine: impl Engine + 'static, folder: Folder) -> Result<Self> {
        let engine: Box<dyn Engine> = Box::new(engine);
        let mut tries = 0;
        loop {
            let port = port::free()?;
            match start_on(&*engine, &folder, port) {
                Ok((running, version)) => {
                    return Ok(Self {
                        running: Mutex::new(Some(running)),
                        folder,
                        engine,
                        port,
                        version,
                    });
                }
                Err(_) if tries < PORTS && is_taken(&folder.log()) => {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What a client is given to connect: with user, password and database.
    #[must_use]
    pub fn url(&self) -> String {
        self.engine.url(self.port)
    }

    /// The port, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Engine and version, such as `PostgreSQL 15.14`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Kills it with SIGKILL, as a power failure would; [`restart`](Self::restart) brings it back.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system refuses.
    pub fn kill(&self) -> Result<()> {
        match self.running().take() {
            Some(running) => running.kill(),
            None => Ok(()),
        }
    }

    /// Starts it again on the same data, with the same URL, and waits until it has answered a query. Kills it
    /// before, if it runs.
    ///
    /// # Errors
    /// [`Error::Failed`] if it does not come up.
    pub fn restart(&self) -> Result<()> {
        self.kill()?;
        let until = Instant::now() + READY_WITHIN;
        loop {
            // What a killed server leaves behind can hold its memory or its port for some moments.
            match start_on(&*self.engine, &self.folder, self.port) {
                Ok((running, _)) => {
                    *self.running() = Some(running);
                    return Ok(());
                }
                Err(Error::Failed { .. }) if Instant::now() < until => thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<Supervisor>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether somebody else has taken the port, in the words of the operating system or of Go.
fn is_taken(log: &str) -> bool {
    log.to_ascii_lowercase().contains("address already in use")
}

/// Without the URL, which has a password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({} on port {})", self.version, self.port)
    }
}

fn start_on(engine: &dyn Engine, folder: &Folder, port: u16) -> Result<(Supervisor, String)> {
    let name = engine.name();
    let mut running = folder.spawn(&engine.command(folder, port)?, engine.stop_signal())?;
    let until = Instant::now() + READY_WITHIN;
    loop {
        // An answer to a query is the only sign: it takes our password, hence is our server's.
        let complaint = match engine.version(port)? {
            Ok(version) => return Ok((running, format!("{name} {version}"))),
            Err(complaint) => complaint,
        };
        if let Some(status) = running.ended()? {
            return Err(folder.failed(name, format!("ended with {status}")));
        }
        if Instant::now() > until {
            let failed = folder.failed(name, format!("does not answer: {complaint}"));
            running.kill()?;
            return Err(failed);
        }
        thread::sleep(PAUSE);
    }
}
