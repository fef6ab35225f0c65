//! Ctrl-C and SIGTERM: the first asks, the second ends the process.

use std::{io, process};

use tokio::sync::watch;

/// What asks a command to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM: from `kill`, or the end of a service.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no such signal"))]
    Terminate,
}

impl Signal {
    /// The exit status behind it, as shells report it: 128 and the signal's number.
    pub(crate) fn exit_status(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// What the command ended by, in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupted",
            Self::Terminate => "terminated",
        }
    }
}

/// Whether somebody wants the command to end.
pub(crate) struct Interrupt(watch::Receiver<Option<Signal>>);

impl Interrupt {
    /// From now on a first signal does not end the process at once.
    #[cfg(feature = "sqlite")]
    pub(crate) fn listen() -> Self {
        Self::listen_and(|_| ())
    }

    /// From now on a first signal does not end the process at once: `acknowledge` is called, and then
    /// [`wait`](Self::wait) returns.
    pub(crate) fn listen_and(acknowledge: impl Fn(Signal) + Send + 'static) -> Self {
        let (sender, receiver) = watch::channel(None);
        tokio::spawn(async move {
            let Ok(mut signals) = Signals::new() else {
                // Without a handler the signals have their ordinary effect; wait for nothing.
                return sender.closed().await;
            };
            let first = signals.next().await;
            acknowledge(first);
            sender.send_replace(Some(first));
            let second = signals.next().await;
            // Nothing is half done that another run would not put right.
            process::exit(i32::from(second.exit_status()));
        });
        Self(receiver)
    }

    /// Returns when a signal has come.
    pub(crate) async fn wait(&mut self) -> Signal {
        let signal = self.0.wait_for(Option::is_some).await.map(|signal| *signal);
        match signal {
            Ok(Some(signal)) => signal,
            // The sender is never dropped before this.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Signal {
        self.0.recv().await;
        Signal::Interrupt
    }
}

/// From now on a write beyond the largest file that is allowed (`ulimit -f`) fails and is reported,
/// like one to a full disk. By default SIGXFSZ ends the process without a word.
pub(crate) fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays when its listener goes. Where there can be none, the default is left.
        drop(signal(SignalKind::from_raw(libc::SIGXFSZ)));
    }
}
