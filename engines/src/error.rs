//! What can be in the way of a server.

use std::io;

use crate::install::Install;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine lacks something that its packages have.
    #[error("{what} is missing; this installs it:\n    {install}")]
    Missing {
        /// A program, or a locale.
        what: String,
        /// What to do about it.
        install: Install,
    },
    /// The server, or what prepares it, ended too early or did not answer.
    #[error("{engine}: {what}\n{log}")]
    Failed {
        /// The engine, such as `PostgreSQL`.
        engine: &'static str,
        /// What happened.
        what: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// The operating system refused something.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What it says.
        source: io::Error,
    },
}

/// Says what was being done when the operating system refused.
pub(crate) trait Doing<T> {
    fn doing(self, doing: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl Into<String>) -> Result<T> {
        self.map_err(|error| Error::Io {
            doing: doing.into(),
            source: error.into(),
        })
    }
}
