//! What every error of a call names: the backend, the operation, and the key.
//!
//! Whatever fails on the way, an argument or the database, passes through here once on its way out.

use std::fmt;
use std::future::Future;

use changestore_core::{Error, Operation, Result};

/// One call of a store's method.
#[derive(Debug)]
pub(crate) struct Call<K> {
    backend: &'static str,
    operation: Operation,
    /// None if the method has no key, or its key is too long to be one.
    key: Option<K>,
}

impl<K: fmt::Display> Call<K> {
    pub(crate) fn new(backend: &'static str, operation: Operation, key: Option<K>) -> Self {
        Self {
            backend,
            operation,
            key,
        }
    }

    /// Does the call's work.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        work.await.map_err(|error| self.blame(error))
    }

    /// The error as the caller sees it.
    pub(crate) fn blame(&self, error: Error) -> Error {
        let error = error
            .with_backend(self.backend)
            .with_operation(self.operation);
        match &self.key {
            Some(key) => error.with_key(key),
            None => error,
        }
    }
}

/// The parts of a key of which there is no type, printed like a whole one: `("queue", "uri")`.
#[derive(Debug)]
pub(crate) struct Parts<T, const N: usize>(pub(crate) [T; N]);

impl<T: fmt::Debug, const N: usize> fmt::Display for Parts<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.iter().enumerate() {
            write!(f, "{}{part:?}", if place == 0 { "(" } else { ", " })?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_printed_like_those_of_the_core() {
        let key = changestore_core::Key::new("a\"b", "c\n").unwrap();
        assert_eq!(Parts(["a\"b", "c\n"]).to_string(), key.to_string());
        assert_eq!(Parts(["WORK#1"]).to_string(), r#"("WORK#1")"#);
    }
}
