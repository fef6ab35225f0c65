//! A proxy before a server of Bigtable's API: counts requests, and loses some on purpose.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use http::{Request, Response};
use hyper::body::{Frame, Incoming};
use tokio::net::TcpListener;
use tonic::Code;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service as _;

use super::wire;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server does it, and the stream ends before the reply.
    LoseReply,
    /// The server does it, and the client is told that the server is not available.
    FailAfterwards,
    /// The stream ends before the server sees it.
    LoseRequest,
    /// The client is told to send less; the server does not see it.
    Throttle,
    /// The client is given another status; the server does not see it.
    Refuse(Code, &'static str),
    /// The stream ends after so many bytes of the reply.
    CutAfter(usize),
}

/// The proxy; it ends with the runtime of its test.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: String,
    script: Arc<Script>,
}

#[derive(Debug, Default)]
struct Script {
    /// What happens to the next requests, the first of which is the next.
    faults: Mutex<VecDeque<Option<Fault>>>,
    /// What happens to the next request of a method.
    method: Mutex<Option<(&'static str, Fault)>>,
    /// The methods that were asked for.
    seen: Mutex<Vec<String>>,
}

impl Proxy {
    /// A proxy before the server at that address.
    pub(crate) async fn before(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own_address = listener.local_addr().unwrap().to_string();
        let server = Endpoint::from_shared(format!("http://{address}"))
            .unwrap()
            .connect_lazy();
        let script = Arc::new(Script::default());
        let shared = Arc::clone(&script);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, script) = (server.clone(), Arc::clone(&shared));
                tokio::spawn(wire::serve(client, move |request| {
                    pass_on(request, server.clone(), Arc::clone(&script))
                }));
            }
        });
        Self {
            address: own_address,
            script,
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What happens to the next requests, one after the other. Afterwards all goes well.
    pub(crate) fn next(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        *self.script.faults.lock().unwrap() = faults.into_iter().collect();
    }

    /// What happens to the next request of this method.
    pub(crate) fn next_of(&self, method: &'static str, fault: Fault) {
        *self.script.method.lock().unwrap() = Some((method, fault));
    }

    /// How many of the faults have not happened.
    pub(crate) fn left(&self) -> usize {
        self.script.faults.lock().unwrap().len()
    }

    /// The methods that were asked for since the last call.
    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.script.seen.lock().unwrap())
    }
}

impl Script {
    fn fault_of(&self, method: &str) -> Option<Fault> {
        let mut of_method = self.method.lock().unwrap();
        if let Some((_, fault)) = of_method.take_if(|(wanted, _)| *wanted == method) {
            return Some(fault);
        }
        self.faults.lock().unwrap().pop_front().flatten()
    }
}

async fn pass_on(
    request: Request<Incoming>,
    server: Channel,
    script: Arc<Script>,
) -> io::Result<Response<Body>> {
    let method = wire::method(&request);
    let fault = script.fault_of(&method);
    script.seen.lock().unwrap().push(method);
    match fault {
        Some(Fault::LoseRequest) => Err(lost()),
        Some(Fault::Throttle) => Ok(wire::status(Code::ResourceExhausted, "slow down")),
        Some(Fault::Refuse(code, message)) => Ok(wire::status(code, message)),
        Some(Fault::LoseReply) => {
            forward(request, server).await?;
            Err(lost())
        }
        Some(Fault::FailAfterwards) => {
            forward(request, server).await?;
            Ok(wire::status(Code::Unavailable, "it may have happened"))
        }
        Some(Fault::CutAfter(bytes)) => {
            let reply = forward(request, server).await?;
            Ok(reply.map(|body| Body::new(Cut { body, left: bytes })))
        }
        None => forward(request, server).await,
    }
}

async fn forward(request: Request<Incoming>, mut server: Channel) -> io::Result<Response<Body>> {
    std::future::poll_fn(|context| server.poll_ready(context))
        .await
        .map_err(io::Error::other)?;
    let reply = server.call(request.map(Body::new)).await;
    reply.map_err(io::Error::other)
}

fn lost() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

/// A body that breaks when so much of it has come.
struct Cut {
    body: Body,
    left: usize,
}

impl hyper::body::Body for Cut {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(Some(Err(lost())));
        }
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(match frame {
            Some(Ok(frame)) => Some(match frame.into_data() {
                Ok(mut data) => {
                    data.truncate(self.left);
                    self.left -= data.remaining();
                    Ok(Frame::data(data))
                }
                // The end came before the cut.
                Err(trailers) => Ok(trailers),
            }),
            Some(Err(error)) => Some(Err(io::Error::other(error))),
            None => None,
        })
    }
}
