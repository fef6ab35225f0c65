//! Servers and stores for the tests of this crate.
#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod proxy;

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Config, Credentials, Region};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Where the endpoint of a server is found.
pub(crate) const URL: &str = "CHANGESTORE_DYNAMO_URL";

/// The endpoint of the server that the tests are given.
pub(crate) fn url() -> String {
    env::var(URL).unwrap_or_else(|_| panic!("{URL} is not set; run cargo xtask conformance"))
}

/// A configuration for that endpoint: a server on this machine takes any credentials.
pub(crate) fn config(endpoint: &str) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(endpoint)
}

/// A client of that endpoint.
pub(crate) fn client(endpoint: &str) -> Client {
    Client::from_conf(config(endpoint).build())
}

/// The name of a table that nobody else has.
pub(crate) fn new_table() -> String {
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (process, table) = (std::process::id(), TABLES.fetch_add(1, Ordering::Relaxed));
    format!("case_{process}_{}_{table}", begun.as_millis())
}

/// What the server calls itself in the answer to its health check.
pub(crate) async fn engine() -> String {
    let address = url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let server = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim().replace('/', " ");
        name.eq_ignore_ascii_case("server").then_some(value)
    });
    server.unwrap_or_else(|| "a server without a name".to_owned())
}
