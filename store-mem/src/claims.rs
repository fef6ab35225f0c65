//! The `ChangeStore`: a map of queues, each with a lock of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Error, ErrorKind, MetadataUpdate,
    Operation, Result,
};
use parking_lot::RwLock;

use crate::MemStore;

#[derive(Debug, Default)]
pub(crate) struct Claims {
    // Locked for a look-up, or for the first claim of a queue; never while a queue is worked on.
    queues: RwLock<HashMap<Box<str>, Arc<Queue>>>,
}

#[derive(Debug, Default)]
struct Queue {
    uris: RwLock<HashMap<Box<str>, ClaimsOfUri>>,
}

/// The claims of one URI in the order of the request ids.
type ClaimsOfUri = BTreeMap<Box<str>, ChangeRecord>;

impl Claims {
    fn queue(&self, name: &str) -> Option<Arc<Queue>> {
        self.queues.read().get(name).cloned()
    }

    fn queue_or_new(&self, name: &str) -> Arc<Queue> {
        if let Some(queue) = self.queue(name) {
            return queue;
        }
        Arc::clone(self.queues.write().entry(name.into()).or_default())
    }

    fn create(&self, record: ChangeRecord) -> CreateOutcome {
        let queue = self.queue_or_new(record.key.queue());
        let mut uris = queue.uris.write();
        let claims = match uris.get_mut(record.key.uri()) {
            Some(claims) => claims,
            None => uris.entry(record.key.uri().into()).or_default(),
        };
        if claims.contains_key(record.key.request_id()) {
            return CreateOutcome::AlreadyThere;
        }
        claims.insert(record.key.request_id().into(), record);
        CreateOutcome::Created
    }

    fn get_by_uri(&self, queue: &str, uri: &str) -> Vec<ChangeRecord> {
        let Some(queue) = self.queue(queue) else {
            return Vec::new();
        };
        let uris = queue.uris.read();
        uris.get(uri)
            .map(|claims| claims.values().cloned().collect())
            .unwrap_or_default()
    }

    fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        let not_found = || Error::new(ErrorKind::NotFound);
        let queue = self.queue(key.queue()).ok_or_else(not_found)?;
        let mut uris = queue.uris.write();
        let record = uris
            .get_mut(key.uri())
            .and_then(|claims| claims.get_mut(key.request_id()))
            .ok_or_else(not_found)?;
        if record.version != update.old_version {
            return Err(Error::new(ErrorKind::VersionMismatch {
                stored: record.version,
            }));
        }
        record.metadata = update.metadata;
        record.version = update.new_version;
        record.updated_at = update.updated_at;
        Ok(())
    }
}

#[async_trait]
impl ChangeStore for MemStore {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        let key = record.key.clone();
        self.run(Operation::Create, || {
            record.check_new()?;
            Ok(self.shared.claims.create(record))
        })
        .map_err(|error| error.with_key(key))
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        // An illegal key, which may be of any length, is not printed.
        ChangeKey::check_uri(queue, uri)
            .map_err(|error| crate::named(error).with_operation(Operation::GetByUri))?;
        self.run(Operation::GetByUri, || {
            Ok(self.shared.claims.get_by_uri(queue, uri))
        })
        .map_err(|error| error.with_key(format_args!("({queue:?}, {uri:?})")))
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        self.run(Operation::UpdateMetadata, || {
            update.check()?;
            self.shared.claims.update_metadata(key, update)
        })
        .map_err(|error| error.with_key(key))
    }
}
