//! What a backend brings to be tested over a network that fails.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore, ManualClock};

use crate::{Fixture, Harness};

/// A backend whose store talks to a server over TCP.
///
/// A store that is opened for these tests is as its users have it but for two things: it connects to another address,
/// where a proxy stands before the server, and it has less patience.
#[async_trait]
pub trait NetworkHarness: Harness {
    /// Where the server listens, as `host:port`.
    fn server(&self) -> String;

    /// As [`Harness::changes`], over that route.
    async fn changes_over(
        &self,
        route: Route,
        namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn ChangeStore>;

    /// As [`Harness::documents`], over that route.
    async fn documents_over(
        &self,
        route: Route,
        namespace: &str,
        clock: ManualClock,
    ) -> Fixture<dyn DocumentStore>;

    /// Failures in the server's own protocol, if they can be told without knowing the request, as in HTTP 1.
    fn answers(&self) -> Option<Answers> {
        None
    }
}

/// How a store reaches its server.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Route {
    /// Where to connect instead of the server's own address.
    pub address: SocketAddr,
    /// How long a call may take in all: a server that does not answer is given up by then.
    pub patience: Duration,
}

/// Whole replies of the server, after which its connection ends.
#[derive(Debug, Clone)]
pub struct Answers {
    /// The server has done nothing and asks for fewer requests.
    pub throttled: Vec<u8>,
    /// The server failed; it may have done what it was asked for.
    pub failed: Vec<u8>,
}
