//! Ctrl-C: the first asks, the second ends the process.

use std::process;

use tokio::sync::watch;

/// The exit status after Ctrl-C, as shells report it.
pub(crate) const EXIT_STATUS: u8 = 130;

/// Whether the user wants the command to end.
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// From now on Ctrl-C does not end the process at once.
    pub(crate) fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if sender.send_replace(true) {
                    // Nothing is half done that another run would not put right.
                    process::exit(i32::from(EXIT_STATUS));
                }
            }
            // Without a handler the signal has its ordinary effect; wait for nothing.
            sender.closed().await;
        });
        Self(receiver)
    }

    /// Returns when Ctrl-C has been pressed.
    pub(crate) async fn wait(&mut self) {
        // The sender is never dropped before this, so there is no error to return for.
        let _ = self.0.wait_for(|interrupted| *interrupted).await;
    }
}
