//! What is said of a URL that is refused. Nothing of it is repeated but the name of a parameter.

use std::borrow::Cow;

use changestore_core::{Error, ErrorKind};

pub(crate) fn refuse(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Configuration).with_message(message)
}

/// For a parameter that neither the driver nor this library knows. Behind a `?` in a password, what looks like parameters is
/// the rest of the password.
pub(crate) fn unknown_parameter(name: &str, query: &str) -> Error {
    if query.contains('@') {
        return refuse(
            "the URL has a ? before its last @: in a user or a password percent-encode it (%3F), in a parameter the @ (%40)",
        );
    }
    refuse(format!(
        "the URL has a parameter {name:?}, which nobody knows"
    ))
}
