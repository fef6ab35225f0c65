//! The `DocumentStore`: a row per record or counter, behind its pk.

use async_trait::async_trait;
use bytes::Bytes;
use changestore_core::{
    Condition, DocumentStore, Error, ErrorKind, Key, NewRecord, Operation, QueryOptions, Record,
    RecordStream, Result, Timestamp,
};
use changestore_retry::{Attempts, Resend, Sent};

use crate::cells::{self, Standing};
use crate::filters;
use crate::layout;
use crate::mutations;
use crate::queries;
use crate::store::{BigtableStore, Conditional, Shared, call};

#[async_trait]
impl DocumentStore for BigtableStore {
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
        let row = Bytes::from(layout::document_row(key));
        let mut attempts = self.attempts(Resend::Reads);
        let live = || filters::live_record(self.now());
        let stored = self.row(&mut attempts, &row, live).await?;
        let record = match stored {
            Some(stored) => cells::record(key.clone(), &stored, self.now())?,
            None => None,
        };
        record.ok_or_else(|| Error::new(ErrorKind::NotFound))
    }

    /// What is at a document's key at that time, for a write in what is left of its own.
    pub(crate) async fn standing(
        &self,
        attempts: &Attempts<'_>,
        row: &Bytes,
        now: Timestamp,
    ) -> Result<Standing> {
        let stored = self
            .row(&mut attempts.reads(), row, filters::standing)
            .await
            .map_err(|error| attempts.in_doubt(error))?;
        Standing::of(stored.as_ref(), now)
    }

    /// No token of a delete can remain. So where a reply was lost and the record is no longer there, nobody can
    /// say which delete, or what else, it was.
    async fn delete(&self, key: &Key, condition: Condition) -> Result<()> {
        let row = Bytes::from(layout::document_row(key));
        let resend = match condition {
            Condition::IfEtag(_) => Resend::Recognizes,
            // It could delete what others have put since, of the same version even.
            _ => Resend::Never,
        };
        let mut attempts = self.attempts(resend);
        loop {
            let now = self.now();
            let conditional = Conditional {
                predicate: match &condition {
                    Condition::IfVersion(version) => filters::is_version(*version, now),
                    Condition::IfEtag(etag) => filters::is_etag(etag, now),
                    Condition::None | Condition::IfAbsent => filters::is_live_record(now),
                },
                if_matched: vec![mutations::clear()],
                if_not: Vec::new(),
            };
            match self
                .check_and_mutate(&mut attempts, &row, conditional)
                .await?
            {
                Sent::Answered(true) => return Ok(()),
                Sent::Again => continue,
                Sent::Answered(false) => {}
            }
            let refusal = match self.standing(&attempts, &row, now).await? {
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
