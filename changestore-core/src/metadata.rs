//! The metadata of a claim: JSON text, kept byte for byte.

use std::fmt;

use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::limits;

/// Valid JSON text ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)), at most 384 KiB.
///
/// It comes back byte for byte as it was given, on every backend: order of keys, spacing, duplicate
/// keys, big integers, the last digit of `1.5777777777770001` and `\u0000` escapes survive. So
/// nothing here parses it into a tree. The empty text stands for `{}`.
///
/// `Debug` prints the length and not the text.
///
/// ```
/// use changestore_core::Metadata;
///
/// assert_eq!(Metadata::new("")?.as_str(), "{}");
/// assert_eq!(Metadata::new(r#"{ "n": 1.50 }"#)?.as_str(), r#"{ "n": 1.50 }"#);
/// let error = Metadata::new("{'n': 1}").unwrap_err();
/// assert!(error.to_string().starts_with("metadata is invalid: not JSON"), "{error}");
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Metadata(Box<str>);

impl Metadata {
    /// Checks the text.
    ///
    /// # Errors
    /// [`TooLarge`](crate::ErrorKind::TooLarge) or
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of `metadata`, with the place in the
    /// text and without the text.
    pub fn new(json: impl Into<String>) -> Result<Self> {
        let json: String = json.into();
        limits::METADATA.check_len(json.len())?;
        if json.is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_str::<IgnoredAny>(&json) {
            Ok(_) => Ok(Self(json.into())),
            // The message of serde_json names the place and the kind of the fault, no content.
            Err(error) => Err(Error::invalid_argument(
                "metadata",
                format!("not JSON: {error}"),
            )),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, without a copy.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into()
    }
}

/// `{}`.
impl Default for Metadata {
    fn default() -> Self {
        Self("{}".into())
    }
}

impl AsRef<str> for Metadata {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metadata({} bytes)", self.0.len())
    }
}
