//! The store: a way to a table, a clock.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use changestore_core::{Clock, Error, Operation, Result, Timestamp};
use changestore_retry::{Attempts, Resend, Retries, Sent};
use futures::TryFutureExt as _;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    CheckAndMutateRowRequest, Mutation, ReadRowsRequest, RowFilter,
};

use crate::address::Address;
use crate::transport::Transport;
use crate::turns::Turns;
use crate::{BACKEND, BigtableBuilder};

/// Both contracts in one table of Bigtable. Clones are the same store.
#[derive(Clone)]
pub struct BigtableStore {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) transport: Transport,
    pub(crate) address: Address,
    /// The table's whole name.
    pub(crate) table: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retries: Retries,
    /// Whose turn it is at a document's key.
    pub(crate) turns: Turns,
}

/// What is done to a row, and whether where the predicate matches or where it does not.
pub(crate) struct Conditional {
    pub(crate) predicate: RowFilter,
    pub(crate) if_matched: Vec<Mutation>,
    pub(crate) if_not: Vec<Mutation>,
}

impl BigtableStore {
    /// What makes a store of a table in this instance. Whom it talks to, and as whom, is as for Google's own
    /// clients: the emulator that `BIGTABLE_EMULATOR_HOST` names, or else Google, with the application default
    /// credentials.
    pub fn builder(project: impl Into<String>, instance: impl Into<String>) -> BigtableBuilder {
        BigtableBuilder::new(project.into(), instance.into())
    }

    pub(crate) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The table's whole name, such as `projects/p/instances/i/tables/t`.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.shared.table
    }
}

/// Names the table and nothing that may be secret.
impl fmt::Debug for BigtableStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BigtableStore")
            .field("table", &self.shared.table)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn attempts(&self, resend: Resend) -> Attempts<'_> {
        self.retries.attempts(resend)
    }

    /// A read of this table, of no rows yet.
    pub(crate) fn read_request(&self) -> ReadRowsRequest {
        ReadRowsRequest {
            table_name: self.table.clone(),
            app_profile_id: self.address.app_profile.clone(),
            ..ReadRowsRequest::default()
        }
    }

    /// Sends a conditional write once: whether its predicate matched.
    pub(crate) async fn check_and_mutate(
        &self,
        attempts: &mut Attempts<'_>,
        row: &Bytes,
        conditional: Conditional,
    ) -> Result<Sent<bool>> {
        let request = CheckAndMutateRowRequest {
            table_name: self.table.clone(),
            app_profile_id: self.address.app_profile.clone(),
            row_key: row.clone(),
            predicate_filter: Some(conditional.predicate),
            true_mutations: conditional.if_matched,
            false_mutations: conditional.if_not,
            ..CheckAndMutateRowRequest::default()
        };
        let deadline = self.retries.policy().attempt_timeout;
        attempts
            .send(|| self.transport.check_and_mutate(request, deadline))
            .await
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
