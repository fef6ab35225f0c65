//! Requests on their way: connections, headers, deadlines, and the four calls that the store makes.
//!
//! Every request says which table it is for, so that Google's front ends route it, who asks, which of the
//! protocol's later features this client knows, and how long an answer is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use changestore_core::{Error, ErrorKind, Result};
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2 as admin;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::bigtable_table_admin_client::BigtableTableAdminClient;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::bigtable_client::BigtableClient;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    CheckAndMutateRowRequest, FeatureFlags, ReadModifyWriteRowRequest, ReadModifyWriteRowResponse,
    ReadRowsRequest, ReadRowsResponse,
};
use prost::Message as _;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Extensions, Request, Response, Status};

use crate::address::{Address, parameter};
use crate::classify::{self, Failure};
use crate::connection::{Answers, Connection, Waiting};
use crate::credentials::Identity;

/// A row may have 256 MiB, and a message a row. Ours never come near, but a stream should not break on others'.
const LARGEST_MESSAGE: usize = 256 * 1024 * 1024;

/// How much of a stream may be on its way before it is asked for.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * STREAM_WINDOW;

/// Middle boxes forget connections that are silent for minutes.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const ALIVE_WITHIN: Duration = Duration::from_secs(10);

/// Who asks, in Google's statistics.
const CLIENT: &str = concat!("gl-rust gccl/", env!("CARGO_PKG_VERSION"), " grpc/tonic");

/// Whom a store talks to.
#[derive(Debug, Clone)]
pub(crate) struct Servers {
    pub(crate) data: String,
    pub(crate) admin: String,
    /// Certificates to trust beside the machine's, as PEM.
    pub(crate) roots: Option<String>,
    /// Connections for data: one carries a hundred requests at a time.
    pub(crate) channels: usize,
    pub(crate) connect_timeout: Duration,
    /// A connection on which a request has waited so long is replaced.
    pub(crate) patience: Duration,
}

/// The way to one table.
pub(crate) struct Transport {
    connections: Vec<Arc<Connection>>,
    next: AtomicUsize,
    admin: Channel,
    identity: Identity,
    /// The headers of every data request.
    headers: MetadataMap,
    resource: MetadataValue<Ascii>,
}

impl Transport {
    /// Connects when it is first used; needs a runtime all the same.
    pub(crate) fn new(servers: &Servers, address: &Address, identity: Identity) -> Result<Self> {
        let endpoint = endpoint(servers, &servers.data)?;
        let resource = header(&address.table_name())?;
        let mut headers = MetadataMap::new();
        headers.insert("google-cloud-resource-prefix", resource.clone());
        headers.insert("x-goog-request-params", header(&address.data_parameters())?);
        headers.insert("bigtable-features", header(&features())?);
        headers.insert("x-goog-api-client", MetadataValue::from_static(CLIENT));
        Ok(Self {
            connections: (0..servers.channels.max(1))
                .map(|_| Connection::new(endpoint.clone(), servers.patience))
                .collect(),
            next: AtomicUsize::new(0),
            admin: self::endpoint(servers, &servers.admin)?.connect_lazy(),
            identity,
            headers,
            resource,
        })
    }

    /// Whether the predicate matched; with it the mutations of that case are done.
    pub(crate) async fn check_and_mutate(
        &self,
        message: CheckAndMutateRowRequest,
        deadline: Duration,
    ) -> Result<bool, Failure> {
        let request = self.request(message, deadline).await?;
        let (mut data, mut waiting) = self.data();
        let answer = data.check_and_mutate_row(request).await;
        Ok(answered_to(&mut waiting, answer)?.predicate_matched)
    }

    /// The cells as they are after the rules.
    pub(crate) async fn read_modify_write(
        &self,
        message: ReadModifyWriteRowRequest,
        deadline: Duration,
    ) -> Result<ReadModifyWriteRowResponse, Failure> {
        let request = self.request(message, deadline).await?;
        let (mut data, mut waiting) = self.data();
        let answer = data.read_modify_write_row(request).await;
        answered_to(&mut waiting, answer)
    }

    /// A stream of chunks, which ends when the deadline is over.
    pub(crate) async fn read_rows(
        &self,
        message: ReadRowsRequest,
        deadline: Duration,
    ) -> Result<Answers<ReadRowsResponse>, Failure> {
        let request = self.request(message, deadline).await?;
        let (mut data, mut waiting) = self.data();
        let answer = data.read_rows(request).await;
        let stream = answered_to(&mut waiting, answer)?;
        Ok(Answers::new(stream, waiting))
    }

    pub(crate) async fn create_table(
        &self,
        message: admin::CreateTableRequest,
        deadline: Duration,
    ) -> Result<admin::Table, Failure> {
        let parameters = parameter("parent", &message.parent);
        let request = self.admin_request(message, &parameters, deadline).await?;
        let answer = self.admin().create_table(request).await;
        answered(answer)
    }

    pub(crate) async fn table(
        &self,
        message: admin::GetTableRequest,
        deadline: Duration,
    ) -> Result<admin::Table, Failure> {
        let parameters = parameter("name", &message.name);
        let request = self.admin_request(message, &parameters, deadline).await?;
        let answer = self.admin().get_table(request).await;
        answered(answer)
    }

    pub(crate) async fn modify_families(
        &self,
        message: admin::ModifyColumnFamiliesRequest,
        deadline: Duration,
    ) -> Result<admin::Table, Failure> {
        let parameters = parameter("name", &message.name);
        let request = self.admin_request(message, &parameters, deadline).await?;
        let answer = self.admin().modify_column_families(request).await;
        answered(answer)
    }

    fn data(&self) -> (BigtableClient<Channel>, Waiting) {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let (channel, waiting) = self.connections[next % self.connections.len()].request();
        let client = BigtableClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE);
        (client, waiting)
    }

    fn admin(&self) -> BigtableTableAdminClient<Channel> {
        BigtableTableAdminClient::new(self.admin.clone())
    }

    async fn request<T>(&self, message: T, deadline: Duration) -> Result<Request<T>, Failure> {
        let headers = self.headers.clone();
        self.authorized(message, headers, deadline).await
    }

    async fn admin_request<T>(
        &self,
        message: T,
        parameters: &str,
        deadline: Duration,
    ) -> Result<Request<T>, Failure> {
        let mut headers = MetadataMap::new();
        headers.insert("google-cloud-resource-prefix", self.resource.clone());
        // Percent-encoded, hence always a header's.
        if let Ok(parameters) = parameters.parse() {
            headers.insert("x-goog-request-params", parameters);
        }
        headers.insert("x-goog-api-client", MetadataValue::from_static(CLIENT));
        self.authorized(message, headers, deadline).await
    }

    /// The token is asked for each time: it may have been renewed.
    async fn authorized<T>(
        &self,
        message: T,
        headers: MetadataMap,
        deadline: Duration,
    ) -> Result<Request<T>, Failure> {
        let mut headers = headers.into_headers();
        headers.extend(self.identity.headers().await?);
        let headers = MetadataMap::from_headers(headers);
        let mut request = Request::from_parts(headers, Extensions::new(), message);
        request.set_timeout(deadline);
        Ok(request)
    }
}

/// Tells the connection as well.
fn answered_to<T>(
    waiting: &mut Waiting,
    answer: Result<Response<T>, Status>,
) -> Result<T, Failure> {
    match answer {
        Ok(_) => waiting.answered(),
        Err(_) => waiting.ended(),
    }
    answered(answer)
}

fn answered<T>(answer: Result<Response<T>, Status>) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer.into_inner()),
        Err(status) => Err(classify::classify(&status)),
    }
}

fn endpoint(servers: &Servers, url: &str) -> Result<Endpoint> {
    let unusable = |error: tonic::transport::Error| {
        Error::new(ErrorKind::Configuration)
            .with_message("the endpoint is no URL, or its certificates cannot be used")
            .with_source(error)
    };
    let mut endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(unusable)?
        .connect_timeout(servers.connect_timeout)
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(ALIVE_WITHIN);
    if url.starts_with("https:") {
        let mut tls = ClientTlsConfig::new().with_native_roots();
        if let Some(roots) = &servers.roots {
            tls = tls.ca_certificate(Certificate::from_pem(roots));
        }
        endpoint = endpoint.tls_config(tls).map_err(unusable)?;
    }
    Ok(endpoint)
}

/// What this client knows of the protocol, so that the server makes use of it.
fn features() -> String {
    let features = FeatureFlags {
        reverse_scans: true,
        last_scanned_row_responses: true,
        ..FeatureFlags::default()
    };
    URL_SAFE.encode(features.encode_to_vec())
}

fn header(text: &str) -> Result<MetadataValue<Ascii>> {
    text.parse().map_err(|error| {
        Error::new(ErrorKind::Configuration)
            .with_message("a name cannot be sent in a header")
            .with_source(error)
    })
}
