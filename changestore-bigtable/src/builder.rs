//! What a store is made from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{Clock, Error, ErrorKind, Operation, Result, SystemClock};
use changestore_retry::{Retries, RetryPolicy};
use google_cloud_auth::credentials::Credentials;
use tokio::runtime::Handle;

use crate::address::Address;
use crate::credentials::{Identity, with_cryptography};
use crate::store::{BigtableStore, Shared, named};
use crate::transport::{Servers, Transport};
use crate::turns::Turns;
use crate::{DEFAULT_TABLE, EMULATOR_HOST};

const DATA_ENDPOINT: &str = "https://bigtable.googleapis.com";
const ADMIN_ENDPOINT: &str = "https://bigtableadmin.googleapis.com";

/// A store to be: its table, and what is not as usual. [`BigtableStore::builder`] makes one.
#[derive(Clone)]
#[must_use]
pub struct BigtableBuilder {
    address: Address,
    credentials: Option<Credentials>,
    emulator: Option<String>,
    endpoint: Option<String>,
    roots: Option<String>,
    channels: usize,
    clock: Arc<dyn Clock>,
    policy: RetryPolicy,
}

impl BigtableBuilder {
    pub(crate) fn new(project: String, instance: String) -> Self {
        Self {
            address: Address {
                project,
                instance,
                table: DEFAULT_TABLE.to_owned(),
                app_profile: String::new(),
            },
            credentials: None,
            emulator: None,
            endpoint: None,
            roots: None,
            channels: 4,
            clock: Arc::new(SystemClock),
            policy: RetryPolicy::default(),
        }
    }

    /// The table's id. Otherwise `changestore`.
    pub fn with_table(mut self, table: impl Into<String>) -> Self {
        self.address.table = table.into();
        self
    }

    /// The app profile that requests go through; it must allow single-row transactions. Otherwise the instance's
    /// default.
    pub fn with_app_profile(mut self, app_profile: impl Into<String>) -> Self {
        self.address.app_profile = app_profile.into();
        self
    }

    /// Whose rights the store has. Otherwise the application default credentials.
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// An emulator, `host:port`, without TLS and credentials. Otherwise the one that `BIGTABLE_EMULATOR_HOST` names,
    /// unless credentials or an endpoint are given.
    pub fn with_emulator(mut self, address: impl Into<String>) -> Self {
        self.emulator = Some(address.into());
        self
    }

    /// Another server than Google's, for data and administration: `https://` and a host, such as a private
    /// endpoint's.
    pub fn with_endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// A certificate, as PEM, to trust for servers beside those that the machine trusts.
    pub fn with_trusted_certificate(mut self, pem: impl Into<String>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    /// How many connections data go over, at least 1. Otherwise 4; each carries about a hundred requests at a time.
    pub fn with_channels(mut self, channels: usize) -> Self {
        self.channels = channels.max(1);
        self
    }

    /// The clock that decides what has expired. Otherwise the system's.
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How long one request may take before it is given up as lost; of a query, until its next message.
    /// Otherwise 5 seconds.
    pub fn with_attempt_timeout(mut self, timeout: Duration) -> Self {
        self.policy.attempt_timeout = timeout;
        self
    }

    /// How long a call may take with all its requests and the pauses between them; of a query, until its next
    /// record. Otherwise 30 seconds.
    pub fn with_operation_timeout(mut self, timeout: Duration) -> Self {
        self.policy.operation_timeout = timeout;
        self
    }

    /// How many requests that fail (throttled, unreachable, lost) a call may make, at least 1. Otherwise 10.
    pub fn with_max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = attempts.max(1);
        self
    }

    /// Whether all names can be.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) if one cannot.
    pub fn check(&self) -> Result<()> {
        self.address.check()?;
        let emulator = self.emulator.as_deref().map(emulator_url).transpose();
        let endpoint = self.endpoint.clone().map(secured).transpose();
        emulator
            .and(endpoint)
            .map(drop)
            .map_err(|error| named(error, Operation::Open))
    }

    /// Makes the store and sees that it can be used: that the table is there with its families, and that the app
    /// profile allows single-row transactions. A right to look that is lacking is not in the way.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) if something is missing or not as it must be;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) without credentials;
    /// [`Unavailable`](ErrorKind::Unavailable) if the server cannot be reached.
    pub async fn open(self) -> Result<BigtableStore> {
        let store = self.connect()?;
        store.check().await?;
        Ok(store)
    }

    /// Makes the store without sending anything: for a table that is still to be [created](BigtableStore::create_table).
    ///
    /// Within a Tokio runtime, which the connections then belong to.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) for names and endpoints that cannot be, and without a runtime;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) if the application default credentials cannot be loaded.
    pub fn connect(self) -> Result<BigtableStore> {
        self.check()?;
        let shared = self
            .shared()
            .map_err(|error| named(error, Operation::Open))?;
        Ok(BigtableStore::new(shared))
    }

    fn shared(self) -> Result<Shared> {
        if Handle::try_current().is_err() {
            return Err(Error::new(ErrorKind::Configuration)
                .with_message("a store is made within a Tokio runtime"));
        }
        let of_environment = || std::env::var(EMULATOR_HOST).ok();
        let is_given = self.credentials.is_some() || self.endpoint.is_some();
        let emulator = match self.emulator {
            None if !is_given => of_environment().filter(|address| !address.is_empty()),
            emulator => emulator,
        };
        let (data, admin, identity) = if let Some(address) = emulator {
            let url = emulator_url(&address)?;
            (url.clone(), url, Identity::Nobody)
        } else {
            let (data, admin) = if let Some(endpoint) = self.endpoint {
                let endpoint = secured(endpoint)?;
                (endpoint.clone(), endpoint)
            } else {
                (DATA_ENDPOINT.to_owned(), ADMIN_ENDPOINT.to_owned())
            };
            with_cryptography();
            let identity = match self.credentials {
                Some(credentials) => Identity::Somebody(credentials),
                None => Identity::application_default()?,
            };
            (data, admin, identity)
        };
        let servers = Servers {
            data,
            admin,
            roots: self.roots,
            channels: self.channels,
            connect_timeout: self.policy.attempt_timeout,
            patience: self.policy.attempt_timeout,
        };
        Ok(Shared {
            transport: Transport::new(&servers, &self.address, identity)?,
            table: self.address.table_name(),
            address: self.address,
            clock: self.clock,
            retries: Retries::new(self.policy),
            turns: Turns::default(),
        })
    }
}

/// An emulator's address as Google's clients take it, a scheme or not.
fn emulator_url(address: &str) -> Result<String> {
    let address = address.strip_prefix("http://").unwrap_or(address);
    let is_address = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    let address = address.trim_end_matches('/');
    if !address.contains("://") && address.rsplit_once(':').is_some_and(is_address) {
        return Ok(format!("http://{address}"));
    }
    Err(Error::new(ErrorKind::Configuration)
        .with_message("an emulator is named by its host and port, such as `127.0.0.1:8086`"))
}

/// A token is for nobody else's eyes.
fn secured(endpoint: String) -> Result<String> {
    if endpoint.starts_with("https://") {
        return Ok(endpoint);
    }
    Err(Error::new(ErrorKind::Configuration).with_message(
        "an endpoint is a URL with `https://`: without TLS, everybody on the way could read the token",
    ))
}

/// Without the credentials.
impl fmt::Debug for BigtableBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BigtableBuilder")
            .field("address", &self.address)
            .field("emulator", &self.emulator)
            .field("endpoint", &self.endpoint)
            .field("channels", &self.channels)
            .field("clock", &self.clock)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulators_are_named_by_host_and_port() {
        for (address, url) in [
            ("127.0.0.1:8086", "http://127.0.0.1:8086"),
            ("http://localhost:1/", "http://localhost:1"),
            ("[::1]:9", "http://[::1]:9"),
        ] {
            assert_eq!(emulator_url(address).unwrap(), url);
        }
        for address in ["", "localhost", "https://localhost:1", "localhost:port"] {
            let error = emulator_url(address).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration, "{address}");
        }
    }

    #[test]
    fn a_token_is_not_sent_in_the_clear() {
        let error = secured("http://bigtable.example.com".to_owned()).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("TLS"), "{error}");
        secured("https://bigtable.example.com".to_owned()).unwrap();
    }
}
