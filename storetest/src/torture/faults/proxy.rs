//! A proxy on 127.0.0.1 that makes faults on request.
//!
//! It knows no protocol: what a client sends after the server has spoken is a request, what the server sends then is its
//! reply. That is so of every protocol in which a client waits for its answer. The programs that do the same
//! (toxiproxy, and its clients for Rust) are servers of their own to be installed, and spoil connections for a while
//! rather than one request.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{Answers, Fault};

/// How late a reply is, and between two pieces of one that trickles. No verdict depends on it.
const LATENCY: Duration = Duration::from_millis(40);
const PAUSE: Duration = Duration::from_millis(1);

/// The pieces of a reply that trickles.
const PIECE: usize = 7;

/// The proxy; dropped, it takes no more connections.
#[derive(Debug)]
pub(in crate::torture) struct Proxy {
    address: SocketAddr,
    plan: Arc<Plan>,
    accepting: JoinHandle<()>,
}

/// What is to happen to which request.
#[derive(Debug)]
struct Plan {
    answers: Option<Answers>,
    next: Mutex<Next>,
    made: AtomicU64,
}

#[derive(Debug)]
enum Next {
    /// All goes well.
    Calm,
    /// After so many requests, this one.
    Once(usize, Fault),
    /// One of these, to one of so many requests.
    Random(Rng, Vec<Fault>, u32),
}

impl Proxy {
    /// A proxy before the server at `host:port`.
    pub(super) async fn before(server: String, answers: Option<Answers>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let plan = Arc::new(Plan {
            answers,
            next: Mutex::new(Next::Calm),
            made: AtomicU64::new(0),
        });
        let shared = Arc::clone(&plan);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, plan) = (server.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    // A client that has gone is the end of its connection and no failure.
                    let _ = serve(client, &server, &plan).await;
                });
            }
        });
        Self {
            address,
            plan,
            accepting,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The faults that it can make.
    pub(in crate::torture) fn faults(&self) -> Vec<Fault> {
        let answers = self.plan.answers.is_some();
        let of_answers = Fault::OF_ANSWERS.into_iter().filter(|_| answers);
        Fault::OF_CONNECTIONS
            .into_iter()
            .chain(of_answers)
            .collect()
    }

    /// After so many requests one has this fault.
    pub(in crate::torture) fn once(&self, after: usize, fault: Fault) {
        *self.plan.next() = Next::Once(after, fault);
    }

    /// From now on, one of so many requests has a fault.
    pub(super) fn random(&self, seed: u64, one_of: u32) {
        *self.plan.next() = Next::Random(Rng::with_seed(seed), self.faults(), one_of);
    }

    /// From now on all goes well.
    pub(in crate::torture) fn calm(&self) {
        *self.plan.next() = Next::Calm;
    }

    /// How many faults there were.
    pub(in crate::torture) fn made(&self) -> u64 {
        self.plan.made.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Plan {
    fn next(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens to the request that has just come.
    fn fault(&self) -> Option<Fault> {
        let mut next = self.next();
        let fault = match &mut *next {
            Next::Calm => None,
            Next::Once(0, fault) => {
                let fault = *fault;
                *next = Next::Calm;
                Some(fault)
            }
            Next::Once(after, _) => {
                *after -= 1;
                None
            }
            Next::Random(random, faults, one_of) => {
                let is_spoilt = random.u32(..*one_of) == 0;
                is_spoilt.then(|| *random.choice(&*faults).expect("some"))
            }
        };
        self.made
            .fetch_add(fault.is_some().into(), Ordering::SeqCst);
        fault
    }

    fn answer(&self, fault: Fault) -> &[u8] {
        match (&self.answers, fault) {
            (Some(answers), Fault::Throttle) => &answers.throttled,
            (Some(answers), _) => &answers.failed,
            (None, _) => &[],
        }
    }
}

/// One connection, from its first request to its end or to its fault.
async fn serve(mut client: TcpStream, server: &str, plan: &Plan) -> Result<()> {
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut from_server) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut is_asking = false;
    let mut fault = None;
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let sent = &from_client[..some(read?)?];
                if !is_asking {
                    is_asking = true;
                    fault = plan.fault();
                }
                match fault {
                    Some(fault) if fault.is_before() => {
                        return spoil_request(client, server, sent, fault, plan).await;
                    }
                    _ => server.write_all(sent).await?,
                }
            }
            read = server.read(&mut from_server) => {
                let replied = &from_server[..some(read?)?];
                is_asking = false;
                match fault {
                    None => client.write_all(replied).await?,
                    Some(Fault::Latency) => {
                        sleep(LATENCY).await;
                        client.write_all(replied).await?;
                        fault = None;
                    }
                    Some(Fault::Trickle) => {
                        for piece in replied.chunks(PIECE) {
                            client.write_all(piece).await?;
                            sleep(PAUSE).await;
                        }
                        fault = None;
                    }
                    Some(fault) => return spoil_reply(client, server, replied, fault, plan).await,
                }
            }
        }
    }
}

/// The end of a connection whose request does not reach the server whole.
async fn spoil_request(
    mut client: TcpStream,
    mut server: TcpStream,
    sent: &[u8],
    fault: Fault,
    plan: &Plan,
) -> Result<()> {
    match fault {
        Fault::CutRequest => {
            server.write_all(&sent[..sent.len() / 2]).await?;
            reset(client)?;
            reset(server)
        }
        Fault::HangBefore => until_gone(client).await,
        Fault::Throttle => {
            client.write_all(plan.answer(fault)).await?;
            client.shutdown().await?;
            until_gone(client).await
        }
        _ => Ok(()),
    }
}

/// The end of a connection whose reply does not reach the client as it is.
async fn spoil_reply(
    mut client: TcpStream,
    server: TcpStream,
    replied: &[u8],
    fault: Fault,
    plan: &Plan,
) -> Result<()> {
    match fault {
        Fault::CutReply => {
            client.write_all(&replied[..replied.len() / 2]).await?;
            reset(client)?;
            reset(server)
        }
        Fault::HangAfter => until_gone(client).await,
        Fault::FailAfterwards => {
            client.write_all(plan.answer(fault)).await?;
            client.shutdown().await?;
            until_gone(client).await
        }
        _ => Ok(()),
    }
}

/// Ends a connection with a reset: what is not delivered yet is lost.
fn reset(stream: TcpStream) -> Result<()> {
    stream.set_zero_linger()?;
    drop(stream);
    Ok(())
}

/// Keeps a connection open, and says nothing, until the client gives it up.
async fn until_gone(mut client: TcpStream) -> Result<()> {
    let mut ignored = [0; 1024];
    while client.read(&mut ignored).await? > 0 {}
    Ok(())
}

/// The end of one side is the end of both.
fn some(read: usize) -> Result<usize> {
    if read == 0 {
        return Err(Error::from(ErrorKind::UnexpectedEof));
    }
    Ok(read)
}
