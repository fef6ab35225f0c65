//! The two contracts: what is checked before any I/O, and the way to the writer or a reader.

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Error,
    ErrorKind, Etag, Key, MetadataUpdate, NewRecord, Operation, QueryOptions, Record, RecordStream,
    Result, Timestamp,
};

use super::codes::SQLITE;
use super::query::query;
use super::store::SqliteStore;
use crate::write::{Write, Written};

#[async_trait]
impl ChangeStore for SqliteStore {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        record.check_new()?;
        match self.0.write(Write::Create(record)).await? {
            Written::Create(outcome) => Ok(outcome),
            other => Err(mixed_up(&other)),
        }
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let blame = |error: Error| error.with_operation(Operation::GetByUri);
        ChangeKey::check_uri(queue, uri).map_err(blame)?;
        let claims = self.0.claims(queue, uri).await;
        claims.map_err(|error| blame(error).with_key(format_args!("({queue:?}, {uri:?})")))
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        update.check().map_err(|error| error.with_key(key))?;
        let key = key.clone();
        match self.0.write(Write::UpdateMetadata { key, update }).await? {
            Written::UpdateMetadata => Ok(()),
            other => Err(mixed_up(&other)),
        }
    }
}

#[async_trait]
impl DocumentStore for SqliteStore {
    async fn get(&self, key: &Key) -> Result<Record> {
        let blame = |error: Error| error.with_operation(Operation::Get).with_key(key);
        let record = self.0.record(key).await.map_err(blame)?;
        record.ok_or_else(|| blame(Error::new(ErrorKind::NotFound).with_backend(SQLITE.backend)))
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let write = Write::Put {
            record,
            condition: condition.normalized(),
            etag: Etag::unique(),
        };
        match self.0.write(write).await? {
            Written::Put(record) => Ok(record),
            other => Err(mixed_up(&other)),
        }
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let condition = condition
            .for_delete()
            .map_err(|error| error.with_operation(Operation::Delete).with_key(key))?;
        let key = key.clone();
        match self.0.write(Write::Delete { key, condition }).await? {
            Written::Delete => Ok(()),
            other => Err(mixed_up(&other)),
        }
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        query(self.0.clone(), pk, sk_prefix, &options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let write = Write::Increment {
            key: key.clone(),
            delta,
            expire_at,
        };
        match self.0.write(write).await? {
            Written::Increment(value) => Ok(value),
            other => Err(mixed_up(&other)),
        }
    }
}

/// The writer answers in kind; this would be a defect of the library.
fn mixed_up(answer: &Written) -> Error {
    let answer = match answer {
        Written::Create(_) => "a create",
        Written::UpdateMetadata => "an update",
        Written::Put(_) => "a put",
        Written::Delete => "a delete",
        Written::Increment(_) => "an increment",
    };
    Error::new(ErrorKind::Other)
        .with_backend(SQLITE.backend)
        .with_message(format!("the writer answered as if to {answer}"))
}
