//! A proxy before a server of DynamoDB's API: counts requests, and loses some on purpose.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server does it, and the connection ends before the reply.
    LoseReply,
    /// The server does it, and the client is told that the server failed.
    FailAfterwards,
    /// The connection ends before the server sees it.
    LoseRequest,
    /// The client is told to send less; the server does not see it.
    Throttle,
    /// The client is given another error of the service's; the server does not see it.
    Refuse(u16, &'static str, &'static str),
}

/// The proxy; it ends with the runtime of its test.
#[derive(Debug)]
pub(crate) struct Proxy {
    url: String,
    script: Arc<Script>,
}

#[derive(Debug, Default)]
struct Script {
    /// What happens to the next requests, the first of which is the next.
    faults: Mutex<VecDeque<Option<Fault>>>,
    /// What happens to the next request of an operation.
    operation: Mutex<Option<(&'static str, Fault)>>,
    /// The operations that were asked for.
    seen: Mutex<Vec<String>>,
    /// The length of the last reply.
    answered: AtomicUsize,
}

impl Proxy {
    /// A proxy before that endpoint.
    pub(crate) async fn before(endpoint: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = endpoint
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        let script = Arc::new(Script::default());
        let shared = Arc::clone(&script);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, script) = (server.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    // A client that has gone is the end of its connection and no failure.
                    let _ = serve(client, &server, &script).await;
                });
            }
        });
        Self { url, script }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What happens to the next requests, one after the other. Afterwards all goes well.
    pub(crate) fn next(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        *self.script.faults.lock().unwrap() = faults.into_iter().collect();
    }

    /// What happens to the next request of this operation.
    pub(crate) fn next_of(&self, operation: &'static str, fault: Fault) {
        *self.script.operation.lock().unwrap() = Some((operation, fault));
    }

    /// How many of the faults have not happened.
    pub(crate) fn left(&self) -> usize {
        self.script.faults.lock().unwrap().len()
    }

    /// How many bytes the server's last reply had.
    pub(crate) fn answered(&self) -> usize {
        self.script.answered.load(Ordering::SeqCst)
    }

    /// The operations that were asked for since the last call.
    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.script.seen.lock().unwrap())
    }
}

impl Script {
    fn fault_of(&self, operation: &str) -> Option<Fault> {
        let mut of_operation = self.operation.lock().unwrap();
        if let Some((_, fault)) = of_operation.take_if(|(wanted, _)| *wanted == operation) {
            return Some(fault);
        }
        self.faults.lock().unwrap().pop_front().flatten()
    }
}

async fn serve(mut client: TcpStream, server: &str, script: &Script) -> std::io::Result<()> {
    while let Some(request) = read_message(&mut client).await? {
        let head = String::from_utf8_lossy(&request);
        let operation = header(&head, "x-amz-target")
            .and_then(|target| target.split('.').nth(1))
            .unwrap_or_default()
            .to_owned();
        let fault = script.fault_of(&operation);
        script.seen.lock().unwrap().push(operation);
        match fault {
            Some(Fault::LoseRequest) => return Ok(()),
            Some(Fault::Throttle) => {
                let code = "ProvisionedThroughputExceededException";
                client.write_all(&error(400, code, "slow down")).await?;
            }
            Some(Fault::Refuse(status, code, message)) => {
                client.write_all(&error(status, code, message)).await?;
            }
            Some(Fault::LoseReply) => {
                forward(&request, server).await?;
                return Ok(());
            }
            Some(Fault::FailAfterwards) => {
                forward(&request, server).await?;
                let failed = error(500, "InternalServerError", "it may have happened");
                client.write_all(&failed).await?;
            }
            None => {
                let reply = forward(&request, server).await?;
                script.answered.store(reply.len(), Ordering::SeqCst);
                client.write_all(&reply).await?;
            }
        }
    }
    Ok(())
}

async fn forward(request: &[u8], server: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(request).await?;
    let reply = read_message(&mut stream).await?;
    Ok(reply.unwrap_or_default())
}

/// A request or reply with its body; none at the end of the connection.
async fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut message = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if let Some(body) = message.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&message[..body]).into_owned();
            let length: usize =
                header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
            let wanted = body + 4 + length;
            while message.len() < wanted {
                let read = stream.read(&mut buffer).await?;
                if read == 0 {
                    return Ok(None);
                }
                message.extend_from_slice(&buffer[..read]);
            }
            return Ok(Some(message));
        }
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(None);
        }
        message.extend_from_slice(&buffer[..read]);
    }
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    head.lines()
        .take_while(|line| !line.is_empty())
        .find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then_some(value.trim())
        })
}

/// An error as DynamoDB answers it.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Vec<u8> {
    let body =
        format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"{message}"}}"#);
    format!(
        "HTTP/1.1 {status} Error\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
