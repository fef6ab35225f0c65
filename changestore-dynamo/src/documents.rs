//! The `DocumentStore`: an item per record or counter, in its pk's partition.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use changestore_core::{
    Condition, DocumentStore, Error, ErrorKind, Key, NewRecord, Operation, QueryOptions, Record,
    RecordStream, Result, Timestamp,
};
use changestore_retry::Resend;

use crate::attempts::Sent;
use crate::item::{self, Standing};
use crate::layout::{self, ETAG, EXPIRE_AT, VALUE, VERSION, number, text};
use crate::queries;
use crate::store::{DynamoStore, Shared, call};

#[async_trait]
impl DocumentStore for DynamoStore {
    async fn get(&self, key: &Key) -> Result<Record> {
        call(Operation::Get, key, self.shared.get(key)).await
    }

    async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let key = record.key().clone();
        let work = self.shared.put(record, condition.normalized());
        call(Operation::Put, key, work).await
    }

    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let work = async { self.shared.delete(key, condition.for_delete()?).await };
        call(Operation::Delete, key, work).await
    }

    fn query(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        queries::query(&self.shared, pk, sk_prefix, &options)
    }

    async fn increment(&self, key: &Key, delta: i64, expire_at: Option<Timestamp>) -> Result<i64> {
        let work = self.shared.increment(key, delta, expire_at);
        call(Operation::Increment, key, work).await
    }
}

impl Shared {
    async fn get(&self, key: &Key) -> Result<Record> {
        let mut attempts = self.attempts(Resend::Reads, 0);
        let item = self.item(&mut attempts, || layout::document_key(key));
        let item = item.await?;
        let record = match item {
            Some(item) => item::live_record(key.clone(), item, self.now())?,
            None => None,
        };
        record.ok_or_else(|| Error::new(ErrorKind::NotFound))
    }

    /// No token of a delete can remain. So where a reply was lost and the record is no longer there, nobody can
    /// say who deleted it; and without its etag it could be somebody's new record, of the same version even, that is
    /// deleted next.
    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let resend = match condition {
            Condition::IfEtag(_) => Resend::Recognizes,
            _ => Resend::Never,
        };
        let mut attempts = self.attempts(resend, 0);
        loop {
            let now = self.now();
            let request = self
                .client
                .delete_item()
                .table_name(&self.table)
                .set_key(Some(layout::document_key(key)))
                .expression_attribute_names("#version", VERSION)
                .expression_attribute_names("#value", VALUE)
                .expression_attribute_names("#expire_at", EXPIRE_AT)
                .expression_attribute_values(":now", number(now.as_millis()))
                .return_values_on_condition_check_failure(AllOld);
            let request = match &condition {
                Condition::IfVersion(version) => request
                    .condition_expression(concat!(live!(), " AND #version = :version"))
                    .expression_attribute_values(":version", number(version.as_i64())),
                Condition::IfEtag(etag) => request
                    .condition_expression(concat!(live!(), " AND #etag = :etag"))
                    .expression_attribute_names("#etag", ETAG)
                    .expression_attribute_values(":etag", text(etag.as_str())),
                Condition::None | Condition::IfAbsent => request.condition_expression(live!()),
            };
            let stored = match attempts.send(|| request.send()).await? {
                Sent::Answered(_) => return Ok(()),
                Sent::Again => continue,
                Sent::Refused(stored) => stored,
            };
            let stored = self.refused_item(&attempts, || layout::document_key(key), stored);
            let stored = stored.await?;
            let refusal = match Standing::of(stored.as_ref(), now)? {
                Standing::Absent | Standing::Counter(_) => ErrorKind::NotFound,
                Standing::Record { version, etag } if condition.holds(Some((version, &etag))) => {
                    attempts.overtaken().await?;
                    continue;
                }
                Standing::Record { .. } => ErrorKind::ConditionFailed,
            };
            return Err(attempts.refuse(Error::new(refusal)));
        }
    }
}

/// A live record, in a condition: `#version`, `#value`, `#expire_at` and `:now` are named with it.
macro_rules! live {
    () => {
        "attribute_exists(#version) AND attribute_not_exists(#value) \
         AND (attribute_not_exists(#expire_at) OR #expire_at > :now)"
    };
}
pub(crate) use live;
