//! What a network does to a request and its reply.

/// A fault of the network between a store and its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The reply comes late.
    Latency,
    /// The reply comes a few bytes at a time.
    Trickle,
    /// The connection ends before the server sees the request.
    LoseRequest,
    /// The server does what it is asked for, and the connection ends before the reply.
    LoseReply,
    /// The server gets half of the request, and both connections are reset.
    CutRequest,
    /// The client gets half of the reply, and both connections are reset.
    CutReply,
    /// The request goes nowhere, and the connection stays open.
    HangBefore,
    /// The server does what it is asked for, the reply goes nowhere, and the connection stays open.
    HangAfter,
    /// The client is told to send less; the server does not see the request. Of protocols with
    /// [`Answers`](super::Answers).
    Throttle,
    /// The server does what it is asked for, and the client is told that the server failed. Of protocols with
    /// [`Answers`](super::Answers).
    FailAfterwards,
}

impl Fault {
    /// Those that any protocol can have.
    pub(super) const OF_CONNECTIONS: [Self; 8] = [
        Self::Latency,
        Self::Trickle,
        Self::LoseRequest,
        Self::LoseReply,
        Self::CutRequest,
        Self::CutReply,
        Self::HangBefore,
        Self::HangAfter,
    ];

    /// Those that are an answer of the protocol.
    pub(super) const OF_ANSWERS: [Self; 2] = [Self::Throttle, Self::FailAfterwards];

    /// Whether it happens before the server has seen the whole request.
    pub(super) fn is_before(self) -> bool {
        matches!(
            self,
            Self::LoseRequest | Self::CutRequest | Self::HangBefore | Self::Throttle
        )
    }
}
