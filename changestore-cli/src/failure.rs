//! How a command can end badly, and what the user then sees.

use std::io::{self, Write};
use std::process::ExitCode;

use changestore_core::{Error, ErrorKind};

use crate::interrupt::Signal;
use crate::output::Printable;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The exit status after a broken pipe, as shells report it (128 + SIGPIPE).
const BROKEN_PIPE_STATUS: u8 = 141;

/// A message on stderr is cut here: an error can quote the input, which may be long.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was called wrongly: exit status 2.
    Usage(anyhow::Error),
    /// It failed: exit status 1.
    Failed(anyhow::Error),
    /// It failed, and has said why already: exit status 1.
    Reported,
    /// Nobody reads the output any more: exit status 141, without a word.
    BrokenPipe,
    /// Ctrl-C, exit status 130, or SIGTERM, exit status 143.
    Interrupted(Signal),
    /// The same where there is no other end, without a word.
    #[cfg(feature = "sqlite")]
    Stopped(Signal),
}

impl Failure {
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    pub(crate) fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self::Failed(error.into())
    }

    /// Prints what the user is to know, and says how the process exits.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(error) => {
                print_chain(error);
                ExitCode::from(2)
            }
            Self::Failed(error) => {
                print_chain(error);
                ExitCode::from(1)
            }
            Self::Reported => ExitCode::from(1),
            Self::BrokenPipe => ExitCode::from(BROKEN_PIPE_STATUS),
            Self::Interrupted(signal) => {
                print_error(signal.word());
                ExitCode::from(signal.exit_status())
            }
            #[cfg(feature = "sqlite")]
            Self::Stopped(signal) => ExitCode::from(signal.exit_status()),
        }
    }
}

/// An argument that was refused before a backend was asked is the caller's: wrong usage.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let is_argument = matches!(
            error.kind(),
            ErrorKind::InvalidArgument { .. } | ErrorKind::TooLarge { .. }
        );
        if is_argument && error.backend().is_none() {
            Self::usage(error)
        } else {
            Self::failed(error)
        }
    }
}

/// An error of the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::failed(anyhow::Error::new(error).context("cannot write the output"))
        }
    }
}

/// Prints `error: …` as one line on stderr.
pub(crate) fn print_error(message: &str) {
    print_line("error: ", message);
}

/// Prints `warning: …` as one line on stderr: it is done, but perhaps not what was meant.
pub(crate) fn print_warning(message: &str) {
    print_line("warning: ", message);
}

/// Prints one line on stderr that is neither a result nor an error.
pub(crate) fn print_note(message: &str) {
    print_line("", message);
}

fn print_chain(error: &anyhow::Error) {
    print_line("error: ", &error.to_string());
    for cause in error.chain().skip(1) {
        print_line("  caused by: ", &cause.to_string());
    }
}

fn print_line(label: &str, message: &str) {
    let cut: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
    let dots = if cut.len() < message.len() { "…" } else { "" };
    // Where stderr is closed there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "{label}{}{dots}", Printable(&cut));
}
