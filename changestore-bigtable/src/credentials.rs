//! Who the store is to Google: nobody, for an emulator, or whoever Google's own crate finds.

use changestore_core::{Error, ErrorKind, Result};
use google_cloud_auth::credentials::{Builder, CacheableResource, Credentials};
use http::{Extensions, HeaderMap};

use crate::classify::{self, Failure};

/// Where the headers that say who asks come from.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// An emulator asks nobody.
    Nobody,
    /// Google's crate keeps the token, renews it before it expires, and never hands out one that has.
    Somebody(Credentials),
}

impl Identity {
    /// The application default credentials: a service account's or user's file, or the machine's.
    pub(crate) fn application_default() -> Result<Self> {
        with_cryptography();
        // Of the usual scope: a user who has signed in with `gcloud` has been granted no narrower one.
        let found = Builder::default().build();
        found.map(Self::Somebody).map_err(|error| {
            Error::new(ErrorKind::PermissionDenied)
                .with_message(
                    "the application default credentials cannot be loaded; \
                     `gcloud auth application-default login` makes some",
                )
                .with_source(error)
        })
    }

    /// The headers of a request.
    pub(crate) async fn headers(&self) -> Result<HeaderMap, Failure> {
        let Self::Somebody(credentials) = self else {
            return Ok(HeaderMap::new());
        };
        match credentials.headers(Extensions::new()).await {
            Ok(CacheableResource::New { data, .. }) => Ok(data),
            // Only who names a former answer is told that it still holds.
            Ok(CacheableResource::NotModified) => Ok(HeaderMap::new()),
            Err(error) => Err(classify::credentials(&error)),
        }
    }
}

/// Google's crate signs and connects with the cryptography that the program has chosen; with ours, if it has not.
pub(crate) fn with_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // If somebody was faster, theirs is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
