//! Whether anybody still reads standard output.
//!
//! A write finds it out, but a command that waits for something to tell may not write for hours.

#[cfg(unix)]
use tokio::net::unix::pipe::Sender;

/// Watches the other end of standard output.
#[derive(Debug)]
pub(crate) struct Audience {
    /// Only asked, never written to: it is not set to be non-blocking, which the output itself would see. None where
    /// there is no other end: a file, or nothing at all.
    #[cfg(unix)]
    stdout: Option<Sender>,
}

impl Audience {
    #[cfg(unix)]
    pub(crate) fn watch() -> Self {
        use std::os::fd::AsFd as _;
        let stdout = std::io::stdout().as_fd().try_clone_to_owned();
        let stdout = stdout.and_then(Sender::from_owned_fd_unchecked);
        Self {
            stdout: stdout.ok(),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn watch() -> Self {
        Self {}
    }

    /// Returns when nobody reads any more; never where that cannot be known.
    pub(crate) async fn gone(&self) {
        #[cfg(unix)]
        if let Some(stdout) = &self.stdout
            && stdout.ready(tokio::io::Interest::ERROR).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
