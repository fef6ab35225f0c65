//! A server over TLS that notes who asks, and a server that gives out tokens.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    CheckAndMutateRowResponse, ReadRowsResponse,
};
use http::HeaderMap;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::wire;

/// Has an empty table, over TLS, and a certificate of its own for `localhost`.
pub(crate) struct Secured {
    pub(crate) url: String,
    /// As PEM.
    pub(crate) certificate: String,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Secured {
    pub(crate) async fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, noted) = (acceptor.clone(), Arc::clone(&noted));
                tokio::spawn(async move {
                    // A client that does not trust us goes away.
                    let Ok(client) = acceptor.accept(client).await else {
                        return;
                    };
                    wire::serve(client, move |request| {
                        noted.lock().unwrap().push(request.headers().clone());
                        let answer = match wire::method(&request).as_str() {
                            "ReadRows" => wire::answer::<ReadRowsResponse>(&[]),
                            _ => wire::answer(&[CheckAndMutateRowResponse::default()]),
                        };
                        async move { Ok(answer) }
                    })
                    .await;
                });
            }
        });
        Self {
            url: format!("https://localhost:{port}"),
            certificate: cert.pem(),
            seen,
        }
    }

    /// The headers of the requests since the last call.
    pub(crate) fn seen(&self) -> Vec<HeaderMap> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

/// Gives out tokens of an hour: `token-1`, `token-2`, …; or no more than so many.
pub(crate) struct Tokens {
    pub(crate) url: String,
    given: Arc<AtomicUsize>,
}

impl Tokens {
    pub(crate) async fn start(at_most: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        let given = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&given);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                // The request is short, and what it says does not matter.
                let mut request = vec![0; 64 * 1024];
                let _ = client.read(&mut request).await;
                let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
                let (status, body) = if number <= at_most {
                    let token = format!(
                        r#"{{"access_token":"token-{number}","expires_in":3600,"token_type":"Bearer"}}"#
                    );
                    ("200 OK", token)
                } else {
                    ("400 Bad Request", r#"{"error":"invalid_grant"}"#.to_owned())
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\
                     Content-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let _ = client.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, given }
    }

    /// How many were asked for.
    pub(crate) fn given(&self) -> usize {
        self.given.load(Ordering::SeqCst)
    }
}
