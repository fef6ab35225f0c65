//! The store: a client, a table, a clock.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::Client;
use changestore_core::{Clock, Error, Operation, Result, Timestamp};
use changestore_retry::{Resend, Retries};
use futures::TryFutureExt as _;

use crate::attempts::Attempts;
use crate::classify::About;
use crate::layout::Item;
use crate::{BACKEND, DynamoBuilder};

/// Both contracts in one table of DynamoDB. Clones are the same store.
#[derive(Clone)]
pub struct DynamoStore {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retries: Retries,
    /// Whether the server has ever returned the item on which a condition failed. One that does not
    /// return it has to be asked.
    pub(crate) returns_old_items: AtomicBool,
}

impl DynamoStore {
    /// What makes a store from a client of the SDK's: its region, credentials, endpoint and HTTP client are
    /// the store's. Its retries are not: a store has its own.
    pub fn builder(client: Client) -> DynamoBuilder {
        DynamoBuilder::new(client)
    }

    pub(crate) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The name or ARN of the table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.shared.table
    }
}

/// Names the table and nothing that may be secret.
impl fmt::Debug for DynamoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoStore")
            .field("table", &self.shared.table)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The attempts of a call that sends about so many bytes.
    pub(crate) fn attempts(&self, resend: Resend, bytes: usize) -> Attempts<'_> {
        let about = About {
            table: &self.table,
            bytes,
        };
        Attempts::new(self.retries.attempts(resend), about)
    }

    /// The item at a key, with all that was acknowledged before.
    pub(crate) async fn item(
        &self,
        attempts: &mut Attempts<'_>,
        key: impl Fn() -> Item,
    ) -> Result<Option<Item>> {
        let answer = attempts.answer(|| {
            self.client
                .get_item()
                .table_name(&self.table)
                .set_key(Some(key()))
                .consistent_read(true)
                .send()
        });
        Ok(answer.await?.item)
    }

    /// The item on which a condition failed: as the server returned it, or else as it is now.
    pub(crate) async fn refused_item(
        &self,
        attempts: &Attempts<'_>,
        key: impl Fn() -> Item,
        returned: Option<Item>,
    ) -> Result<Option<Item>> {
        if returned.is_some() {
            self.returns_old_items.store(true, Ordering::Relaxed);
            return Ok(returned);
        }
        if self.returns_old_items.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let item = self.item(&mut attempts.reads(), key).await;
        item.map_err(|error| attempts.in_doubt(error))
    }
}

/// Does a call's work. Whatever fails on the way, an argument or the server, is named here on its way out.
///
/// No `async fn`, which would have room for the work twice: as its argument, and as what it waits for.
pub(crate) fn call<T>(
    operation: Operation,
    key: impl fmt::Display,
    work: impl Future<Output = Result<T>>,
) -> impl Future<Output = Result<T>> {
    work.map_err(move |error| named(error, operation).with_key(key))
}

pub(crate) fn named(error: Error, operation: Operation) -> Error {
    error.with_backend(BACKEND).with_operation(operation)
}
