//! The `ChangeStore`: an item per claim, in its queue's partition.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Error, ErrorKind, Etag, MetadataUpdate,
    Operation, Outcome, Result,
};
use changestore_retry::Resend;

use crate::attempts::{Attempts, Sent};
use crate::item;
use crate::layout::{
    self, CREATE_TOKEN, CREATED_AT, METADATA, PK, SK, UPDATE_TOKEN, UPDATED_AT, VERSION, number,
    text,
};
use crate::store::{DynamoStore, Shared, call};

#[async_trait]
impl ChangeStore for DynamoStore {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        record.check_new()?;
        let shared = &*self.shared;
        call(Operation::Create, &record.key, shared.create(&record)).await
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let work = async {
            ChangeKey::check_uri(queue, uri)?;
            self.shared.claims_of(queue, uri).await
        };
        let key = format_args!("({queue:?}, {uri:?})").to_string();
        call(Operation::GetByUri, key, work).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        let work = async {
            update.check()?;
            self.shared.update_metadata(key, &update).await
        };
        call(Operation::UpdateMetadata, key, work).await
    }
}

impl Shared {
    async fn create(&self, record: &ChangeRecord) -> Result<CreateOutcome> {
        let token = Etag::unique();
        let key = || layout::claim_key(&record.key);
        // Nothing deletes a claim: sent again it cannot be applied again.
        let mut attempts = self.attempts(Resend::Recognizes, record.metadata.as_str().len());
        loop {
            let request = self
                .client
                .put_item()
                .table_name(&self.table)
                .set_item(Some(key()))
                .item(METADATA, text(record.metadata.as_str()))
                .item(CREATED_AT, number(record.created_at.as_millis()))
                .item(UPDATED_AT, number(record.updated_at.as_millis()))
                .item(VERSION, number(record.version.as_i64()))
                .item(CREATE_TOKEN, text(token.as_str()))
                .condition_expression("attribute_not_exists(#pk)")
                .expression_attribute_names("#pk", PK)
                .return_values_on_condition_check_failure(AllOld);
            match attempts.send(|| request.send()).await? {
                Sent::Answered(_) => return Ok(CreateOutcome::Created),
                Sent::Again => {}
                Sent::Refused(stored) => {
                    // What made the claim stays with it, so what became of a lost reply is always told.
                    let stored = self.refused_item(&attempts, key, stored).await?;
                    let Some(stored) = stored else {
                        return Err(Error::corrupt("a claim is there and is not"));
                    };
                    return Ok(if item::is_written_by(&stored, CREATE_TOKEN, &token) {
                        CreateOutcome::Created
                    } else {
                        CreateOutcome::AlreadyThere
                    });
                }
            }
        }
    }

    async fn claims_of(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let mut claims = Vec::new();
        let mut start = None;
        loop {
            let mut attempts = self.attempts(Resend::Reads, 0);
            let page = attempts.answer(|| {
                self.client
                    .query()
                    .table_name(&self.table)
                    .consistent_read(true)
                    .key_condition_expression("#pk = :pk AND begins_with(#sk, :uri)")
                    .expression_attribute_names("#pk", PK)
                    .expression_attribute_names("#sk", SK)
                    .expression_attribute_values(":pk", layout::queue_partition(queue))
                    .expression_attribute_values(":uri", text(&layout::uri_prefix(uri)))
                    .set_exclusive_start_key(start.clone())
                    .send()
            });
            let page = page.await?;
            for item in page.items.into_iter().flatten() {
                claims.push(item::claim(queue, uri, item)?);
            }
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() {
                return Ok(claims);
            }
        }
    }

    async fn update_metadata(&self, key: &ChangeKey, update: &MetadataUpdate) -> Result<()> {
        let token = Etag::unique();
        // The new version may be the old one, and others may bring an old one back.
        let mut attempts = self.attempts(Resend::Never, update.metadata.as_str().len());
        match self.updated(key, update, &token, &mut attempts).await {
            Err(lost) if lost.outcome() == Outcome::Unknown => {
                match self
                    .item(&mut attempts.reads(), || layout::claim_key(key))
                    .await
                {
                    Ok(Some(stored)) if item::is_written_by(&stored, UPDATE_TOKEN, &token) => {
                        Ok(())
                    }
                    _ => Err(lost),
                }
            }
            updated => updated,
        }
    }

    /// Sends an update until it has its answer.
    async fn updated(
        &self,
        key: &ChangeKey,
        update: &MetadataUpdate,
        token: &Etag,
        attempts: &mut Attempts<'_>,
    ) -> Result<()> {
        loop {
            let request = self
                .client
                .update_item()
                .table_name(&self.table)
                .set_key(Some(layout::claim_key(key)))
                .update_expression(
                    "SET #metadata = :metadata, #version = :new, #updated_at = :updated_at, \
                     #token = :token",
                )
                .condition_expression("#version = :old")
                .expression_attribute_names("#metadata", METADATA)
                .expression_attribute_names("#version", VERSION)
                .expression_attribute_names("#updated_at", UPDATED_AT)
                .expression_attribute_names("#token", UPDATE_TOKEN)
                .expression_attribute_values(":metadata", text(update.metadata.as_str()))
                .expression_attribute_values(":old", number(update.old_version.as_i64()))
                .expression_attribute_values(":new", number(update.new_version.as_i64()))
                .expression_attribute_values(":updated_at", number(update.updated_at.as_millis()))
                .expression_attribute_values(":token", text(token.as_str()))
                .return_values_on_condition_check_failure(AllOld);
            let stored = match attempts.send(|| request.send()).await? {
                Sent::Answered(_) => return Ok(()),
                Sent::Again => continue,
                Sent::Refused(stored) => stored,
            };
            let stored = self.refused_item(attempts, || layout::claim_key(key), stored);
            let stored = stored.await?;
            let Some(stored) = stored else {
                return Err(Error::new(ErrorKind::NotFound));
            };
            let version = item::version(&stored)?;
            if version != update.old_version {
                return Err(Error::new(ErrorKind::VersionMismatch { stored: version }));
            }
            attempts.overtaken().await?;
        }
    }
}
