//! The two contracts: what is checked before any I/O, and the way to the writer or a reader.

use std::fmt;

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Error,
    ErrorKind, Etag, Key, MetadataUpdate, NewRecord, Operation, QueryOptions, Record, RecordStream,
    Result, Timestamp, limits,
};

use super::codes::SQLITE;
use super::query::query;
use super::store::SqliteStore;
use crate::call::{Call, Parts};
use crate::write::{Write, Written};

#[async_trait]
impl ChangeStore for SqliteStore {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        let call = call(Operation::Create, Some(record.key.clone()));
        let work = async {
            record.check_new()?;
            match self.0.write(Write::Create(record)).await? {
                Written::Create(outcome) => Ok(outcome),
                other => Err(mixed_up(&other)),
            }
        };
        call.run(work).await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let is_short = limits::QUEUE.check_len(queue.len()).is_ok()
            && limits::URI.check_len(uri.len()).is_ok();
        let key = is_short.then_some(Parts([queue, uri]));
        let work = async {
            ChangeKey::check_uri(queue, uri)?;
            self.0.claims(queue, uri).await
        };
        call(Operation::GetByUri, key).run(work).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        let work = async {
            update.check()?;
            let key = key.clone();
            match self.0.write(Write::UpdateMetadata { key, update }).await? {
                Written::UpdateMetadata => Ok(()),
                other => Err(mixed_up(&other)),
            }
        };
        call(Operation::UpdateMetadata, Some(key)).run(work).await
    }
}

#[async_trait]
impl DocumentStore for SqliteStore {
    async fn get(&self, key: &Key) -> Result<Record> {
        let work = async {
            let record = self.0.record(key).await?;
            record.ok_or_else(|| Error::new(ErrorKind::NotFound))
        };
        call(Operation::Get, Some(key)).run(work).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let call = call(Operation::Put, Some(record.key().clone()));
        let write = Write::Put {
            record,
            condition: condition.normalized(),
            etag: Etag::unique(),
        };
        let work = async {
            match self.0.write(write).await? {
                Written::Put(record) => Ok(record),
                other => Err(mixed_up(&other)),
            }
        };
        call.run(work).await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let work = async {
            let condition = condition.for_delete()?;
            let key = key.clone();
            match self.0.write(Write::Delete { key, condition }).await? {
                Written::Delete => Ok(()),
                other => Err(mixed_up(&other)),
            }
        };
        call(Operation::Delete, Some(key)).run(work).await
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
        let work = async {
            match self.0.write(write).await? {
                Written::Increment(value) => Ok(value),
                other => Err(mixed_up(&other)),
            }
        };
        call(Operation::Increment, Some(key)).run(work).await
    }
}

/// A call of this backend.
pub(super) fn call<K: fmt::Display>(operation: Operation, key: Option<K>) -> Call<K> {
    Call::new(SQLITE.backend, operation, key)
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
    Error::new(ErrorKind::Other).with_message(format!("the writer answered as if to {answer}"))
}
