//! The two contracts on any engine: what is checked before any I/O, and what every error names.

use std::fmt;
use std::future::Future;

use changestore_core::{
    ChangeKey, ChangeRecord, Condition, CreateOutcome, Error, ErrorKind, Etag, Key, MetadataUpdate,
    NewRecord, Operation, Record, Result, Timestamp, limits,
};

use super::call::{Call, Parts};
use super::write::{Write, Written};

/// A store behind both contracts: how its writes and reads get to the database.
pub(crate) trait Backend: Send + Sync + 'static {
    /// What errors call it.
    const NAME: &'static str;

    fn write(&self, write: Write) -> impl Future<Output = Result<Written>> + Send;

    /// The claims of a URI, in the order of the request ids.
    fn claims(
        &self,
        queue: &str,
        uri: &str,
    ) -> impl Future<Output = Result<Vec<ChangeRecord>>> + Send;

    /// The live record at a key.
    fn record(&self, key: &Key) -> impl Future<Output = Result<Option<Record>>> + Send;
}

/// Implements the contracts for `pub struct $store(Arc<$backend>)`.
macro_rules! implement {
    ($store:ident) => {
        #[async_trait::async_trait]
        impl changestore_core::ChangeStore for $store {
            async fn create(
                &self,
                record: changestore_core::ChangeRecord,
            ) -> changestore_core::Result<changestore_core::CreateOutcome> {
                $crate::flow::contracts::create(&*self.0, record).await
            }

            async fn get_by_uri(
                &self,
                queue: &str,
                uri: &str,
            ) -> changestore_core::Result<Vec<changestore_core::ChangeRecord>> {
                $crate::flow::contracts::get_by_uri(&*self.0, queue, uri).await
            }

            async fn update_metadata(
                &self,
                key: &changestore_core::ChangeKey,
                update: changestore_core::MetadataUpdate,
            ) -> changestore_core::Result<()> {
                $crate::flow::contracts::update_metadata(&*self.0, key, update).await
            }
        }

        #[async_trait::async_trait]
        impl changestore_core::DocumentStore for $store {
            async fn get(
                &self,
                key: &changestore_core::Key,
            ) -> changestore_core::Result<changestore_core::Record> {
                $crate::flow::contracts::get(&*self.0, key).await
            }

            async fn put(
                &self,
                record: changestore_core::NewRecord,
                condition: changestore_core::Condition,
            ) -> changestore_core::Result<changestore_core::Record> {
                $crate::flow::contracts::put(&*self.0, record, condition).await
            }

            async fn delete(
                &self,
                key: &changestore_core::Key,
                condition: changestore_core::Condition,
            ) -> changestore_core::Result<()> {
                $crate::flow::contracts::delete(&*self.0, key, condition).await
            }

            fn query(
                &self,
                pk: &str,
                sk_prefix: &str,
                options: changestore_core::QueryOptions,
            ) -> changestore_core::RecordStream {
                $crate::flow::scan::query(std::sync::Arc::clone(&self.0), pk, sk_prefix, &options)
            }

            async fn increment(
                &self,
                key: &changestore_core::Key,
                delta: i64,
                expire_at: Option<changestore_core::Timestamp>,
            ) -> changestore_core::Result<i64> {
                $crate::flow::contracts::increment(&*self.0, key, delta, expire_at).await
            }
        }
    };
}
pub(crate) use implement;

pub(crate) async fn create<B: Backend>(backend: &B, record: ChangeRecord) -> Result<CreateOutcome> {
    let call = call::<B, _>(Operation::Create, Some(record.key.clone()));
    let work = async {
        record.check_new()?;
        match backend.write(Write::Create(record)).await? {
            Written::Create(outcome) => Ok(outcome),
            other => Err(mixed_up(&other)),
        }
    };
    call.run(work).await
}

pub(crate) async fn get_by_uri<B: Backend>(
    backend: &B,
    queue: &str,
    uri: &str,
) -> Result<Vec<ChangeRecord>> {
    let is_short =
        limits::QUEUE.check_len(queue.len()).is_ok() && limits::URI.check_len(uri.len()).is_ok();
    let key = is_short.then_some(Parts([queue, uri]));
    let work = async {
        ChangeKey::check_uri(queue, uri)?;
        backend.claims(queue, uri).await
    };
    call::<B, _>(Operation::GetByUri, key).run(work).await
}

pub(crate) async fn update_metadata<B: Backend>(
    backend: &B,
    key: &ChangeKey,
    update: MetadataUpdate,
) -> Result<()> {
    let work = async {
        update.check()?;
        let key = key.clone();
        match backend.write(Write::UpdateMetadata { key, update }).await? {
            Written::UpdateMetadata => Ok(()),
            other => Err(mixed_up(&other)),
        }
    };
    call::<B, _>(Operation::UpdateMetadata, Some(key))
        .run(work)
        .await
}

pub(crate) async fn get<B: Backend>(backend: &B, key: &Key) -> Result<Record> {
    let work = async {
        let record = backend.record(key).await?;
        record.ok_or_else(|| Error::new(ErrorKind::NotFound))
    };
    call::<B, _>(Operation::Get, Some(key)).run(work).await
}

pub(crate) async fn put<B: Backend>(
    backend: &B,
    record: NewRecord,
    condition: Condition,
) -> Result<Record> {
    let call = call::<B, _>(Operation::Put, Some(record.key().clone()));
    let write = Write::Put {
        record,
        condition: condition.normalized(),
        etag: Etag::unique(),
    };
    let work = async {
        match backend.write(write).await? {
            Written::Put(record) => Ok(record),
            other => Err(mixed_up(&other)),
        }
    };
    call.run(work).await
}

pub(crate) async fn delete<B: Backend>(backend: &B, key: &Key, condition: Condition) -> Result<()> {
    let work = async {
        let condition = condition.for_delete()?;
        let key = key.clone();
        match backend.write(Write::Delete { key, condition }).await? {
            Written::Delete => Ok(()),
            other => Err(mixed_up(&other)),
        }
    };
    call::<B, _>(Operation::Delete, Some(key)).run(work).await
}

pub(crate) async fn increment<B: Backend>(
    backend: &B,
    key: &Key,
    delta: i64,
    expire_at: Option<Timestamp>,
) -> Result<i64> {
    let write = Write::Increment {
        key: key.clone(),
        delta,
        expire_at,
    };
    let work = async {
        match backend.write(write).await? {
            Written::Increment(value) => Ok(value),
            other => Err(mixed_up(&other)),
        }
    };
    call::<B, _>(Operation::Increment, Some(key))
        .run(work)
        .await
}

fn call<B: Backend, K: fmt::Display>(operation: Operation, key: Option<K>) -> Call<K> {
    Call::new(B::NAME, operation, key)
}

/// Writes are answered in kind; this would be a defect of the library.
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
