//! A connection that is given up when it is silent.
//!
//! A connection can be open and dead: the other side is gone and nobody has said so. Keep-alives find that out after
//! most of a minute, and until then every call that is sent over it waits in vain. So a request that has waited for as
//! long as an attempt may has its connection replaced for the requests after it. Others that are under way keep the old
//! one: a server that is only slow still answers them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// The place of one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    endpoint: Endpoint,
    /// A request that is given up after that time leaves doubts.
    patience: Duration,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    channel: Channel,
    /// Counts the connections that were here.
    number: u64,
    is_doubtful: bool,
}

/// A request that is waited for.
#[derive(Debug)]
pub(crate) struct Waiting {
    connection: Arc<Connection>,
    number: u64,
    since: Option<Instant>,
}

/// Messages that are waited for one by one.
#[derive(Debug)]
pub(crate) struct Answers<T> {
    stream: Streaming<T>,
    waiting: Waiting,
}

impl Connection {
    /// Connects when it is first used; needs a runtime all the same.
    pub(crate) fn new(endpoint: Endpoint, patience: Duration) -> Arc<Self> {
        let current = Current {
            channel: endpoint.connect_lazy(),
            number: 0,
            is_doubtful: false,
        };
        Arc::new(Self {
            endpoint,
            // An attempt's own timer may go off first.
            patience: patience * 9 / 10,
            current: Mutex::new(current),
        })
    }

    /// The connection, and what is to be told of the answer.
    pub(crate) fn request(self: &Arc<Self>) -> (Channel, Waiting) {
        let mut current = self.current.lock();
        if current.is_doubtful {
            // Here and not where the doubt arose: a future may be dropped where there is no runtime.
            *current = Current {
                channel: self.endpoint.connect_lazy(),
                number: current.number + 1,
                is_doubtful: false,
            };
        }
        let waiting = Waiting {
            connection: Arc::clone(self),
            number: current.number,
            since: Some(Instant::now()),
        };
        (current.channel.clone(), waiting)
    }
}

impl Waiting {
    /// Something has come: an answer, or a failure before the time was over.
    pub(crate) fn ended(&mut self) {
        if let Some(since) = self.since.take()
            && since.elapsed() >= self.connection.patience
        {
            let mut current = self.connection.current.lock();
            current.is_doubtful |= current.number == self.number;
        }
    }

    /// An answer has come, however late.
    pub(crate) fn answered(&mut self) {
        self.since = None;
    }
}

/// Given up, by its caller or because the time is over.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.ended();
    }
}

impl<T> Answers<T> {
    pub(crate) fn new(stream: Streaming<T>, waiting: Waiting) -> Self {
        Self { stream, waiting }
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Result<Option<T>, Status> {
        self.waiting.since = Some(Instant::now());
        let message = self.stream.message().await;
        match message {
            Ok(_) => self.waiting.answered(),
            Err(_) => self.waiting.ended(),
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn number(connection: &Arc<Connection>) -> u64 {
        let (_, mut waiting) = connection.request();
        waiting.answered();
        waiting.number
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_request_that_waited_in_vain_leaves_doubts() {
        let connection = Connection::new(Endpoint::from_static("http://127.0.0.1:1"), PATIENCE);
        let (_, waiting) = connection.request();
        drop(waiting);
        assert_eq!(number(&connection), 0, "its caller went away at once");

        let (_, mut waiting) = connection.request();
        tokio::time::advance(PATIENCE).await;
        waiting.answered();
        drop(waiting);
        assert_eq!(number(&connection), 0, "its answer came late");

        let (_, first) = connection.request();
        let (_, second) = connection.request();
        tokio::time::advance(PATIENCE).await;
        drop(first);
        assert_eq!(number(&connection), 1);
        // The same connection's: it has been replaced by now.
        drop(second);
        assert_eq!(number(&connection), 1);
    }
}
