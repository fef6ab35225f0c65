//! The `ChangeStore`: a row per claim, behind its queue and uri.

use async_trait::async_trait;
use bytes::Bytes;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Error, ErrorKind, Etag, MetadataUpdate,
    Operation, Result,
};
use changestore_retry::{Resend, Sent};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::row_range::StartKey;

use crate::cells;
use crate::filters;
use crate::layout::{self, CLAIM, CREATE_TOKEN, UPDATE_TOKEN, VERSION};
use crate::mutations;
use crate::scan::{Range, Scan};
use crate::store::{BigtableStore, Conditional, Shared, call};

#[async_trait]
impl ChangeStore for BigtableStore {
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
        let row = Bytes::from(layout::claim_row(&record.key));
        // Nothing deletes a claim: sent again it cannot be applied again.
        let mut attempts = self.attempts(Resend::Recognizes);
        loop {
            let conditional = Conditional {
                predicate: filters::claim(),
                if_matched: Vec::new(),
                if_not: mutations::create(record, &token),
            };
            match self
                .check_and_mutate(&mut attempts, &row, conditional)
                .await?
            {
                Sent::Again => {}
                Sent::Answered(false) => return Ok(CreateOutcome::Created),
                Sent::Answered(true) if !attempts.has_lost() => {
                    return Ok(CreateOutcome::AlreadyThere);
                }
                Sent::Answered(true) => {
                    // What made the claim stays with it, so what became of a lost reply is always told.
                    let stored = self
                        .row(&mut attempts.reads(), &row, filters::claim)
                        .await
                        .map_err(|error| attempts.in_doubt(error))?;
                    let Some(stored) = stored else {
                        return Err(Error::corrupt("a claim is there and is not"));
                    };
                    return Ok(if cells::is_written_by(&stored, CREATE_TOKEN, &token) {
                        CreateOutcome::Created
                    } else {
                        CreateOutcome::AlreadyThere
                    });
                }
            }
        }
    }

    async fn claims_of(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let prefix = layout::uri_prefix(queue, uri);
        let range = Range {
            start: StartKey::StartKeyClosed(prefix.clone().into()),
            end: layout::behind(&prefix),
            is_reversed: false,
        };
        let mut scan = Scan::new(range, None);
        let mut claims = Vec::new();
        loop {
            let mut attempts = self.attempts(Resend::Reads);
            let rows = scan.next(self, &mut attempts, filters::claim).await?;
            if rows.is_empty() {
                return Ok(claims);
            }
            for row in rows {
                let request_id = row.key.get(prefix.len()..).unwrap_or_default();
                claims.push(cells::claim(queue, uri, request_id, &row)?);
            }
        }
    }

    async fn update_metadata(&self, key: &ChangeKey, update: &MetadataUpdate) -> Result<()> {
        let token = Etag::unique();
        let row = Bytes::from(layout::claim_row(key));
        let mut attempts = self.attempts(Resend::Recognizes);
        loop {
            let old_version = update.old_version.as_i64().to_be_bytes();
            let conditional = Conditional {
                predicate: filters::is(CLAIM, VERSION, old_version),
                if_matched: mutations::update(update, &token),
                if_not: Vec::new(),
            };
            let sent = self.check_and_mutate(&mut attempts, &row, conditional);
            match sent.await? {
                Sent::Answered(true) => return Ok(()),
                // After a lost reply it is only looked for: the new version may be the old one, and others may bring
                // an old one back.
                Sent::Again if !attempts.has_lost() => continue,
                Sent::Again | Sent::Answered(false) => {}
            }
            let stored = self
                .row(&mut attempts.reads(), &row, filters::claim)
                .await
                .map_err(|error| attempts.in_doubt(error))?;
            let Some(stored) = stored else {
                return Err(attempts.refuse(Error::new(ErrorKind::NotFound)));
            };
            if cells::is_written_by(&stored, UPDATE_TOKEN, &token) {
                return Ok(());
            }
            let version = cells::claim_version(&stored)?;
            if version != update.old_version || attempts.has_lost() {
                let mismatch = ErrorKind::VersionMismatch { stored: version };
                return Err(attempts.refuse(Error::new(mismatch)));
            }
            attempts.overtaken().await?;
        }
    }
}
