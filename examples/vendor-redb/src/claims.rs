//! The `ChangeStore`.

use async_trait::async_trait;
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Error, ErrorKind, Metadata,
    MetadataUpdate, Operation, Result, Timestamp, Version,
};
use redb::{ReadableTable, Value};

use crate::error::{Failure, corrupt};
use crate::tables::{self, CLAIMS, ClaimValue};
use crate::{RedbStore, named};

type Stored<'a> = <ClaimValue as Value>::SelfType<'a>;

fn encode(record: &ChangeRecord) -> Stored<'_> {
    (
        record.version.as_i64(),
        record.created_at.as_millis(),
        record.updated_at.as_millis(),
        // The text itself: metadata come back byte for byte.
        record.metadata.as_str(),
    )
}

/// The types of the core check what they are made of, so nothing that this crate cannot have written
/// gets past this.
fn decode(key: ChangeKey, stored: Stored<'_>) -> Result<ChangeRecord> {
    let (version, created_at, updated_at, metadata) = stored;
    if metadata.is_empty() {
        // Given, it would mean `{}`, and that is what is stored then.
        return Err(Error::corrupt("stored metadata are empty"));
    }
    Ok(ChangeRecord {
        key,
        metadata: Metadata::new(metadata).map_err(corrupt)?,
        created_at: Timestamp::from_millis(created_at).map_err(corrupt)?,
        updated_at: Timestamp::from_millis(updated_at).map_err(corrupt)?,
        version: decode_version(version)?,
    })
}

/// A stored version; 0 stands for no record and is in none.
pub(crate) fn decode_version(version: i64) -> Result<Version> {
    match Version::try_from(version).map_err(corrupt)? {
        Version::ABSENT => Err(Error::corrupt("a stored version is 0")),
        version => Ok(version),
    }
}

#[async_trait]
impl ChangeStore for RedbStore {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        let key = record.key.clone();
        let create = async {
            // Checks come before I/O, and are the core's: the same on every backend.
            record.check_new()?;
            self.write(move |transaction| {
                let mut claims = transaction.open_table(CLAIMS)?;
                let key = (
                    record.key.queue(),
                    record.key.uri(),
                    record.key.request_id(),
                );
                // The first write wins, and "already there" is no failure. Nobody can come between
                // this look and the insert: redb has one writer at a time.
                if claims.get(key)?.is_some() {
                    return Ok(CreateOutcome::AlreadyThere);
                }
                claims.insert(key, encode(&record))?;
                Ok(CreateOutcome::Created)
            })
            .await
        };
        create
            .await
            .map_err(|error| named(error, Operation::Create).with_key(key))
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        let get = async {
            ChangeKey::check_uri(queue, uri)?;
            let (queue, uri) = (queue.to_owned(), uri.to_owned());
            self.read(move |transaction| {
                let claims = transaction.open_table(CLAIMS)?;
                let end = tables::successor(&uri);
                let mut records = Vec::new();
                for entry in claims.range(tables::claims_of_uri(&queue, &uri, &end))? {
                    let (key, stored) = entry?;
                    let (queue, uri, request_id) = key.value();
                    let key = ChangeKey::new(queue, uri, request_id).map_err(corrupt)?;
                    records.push(decode(key, stored.value())?);
                }
                Ok(records)
            })
            .await
        };
        get.await.map_err(|error| {
            let error = named(error, Operation::GetByUri);
            // An illegal key, which may be of any length, is not printed.
            if matches!(
                error.kind(),
                ErrorKind::InvalidArgument { .. } | ErrorKind::TooLarge { .. }
            ) {
                return error;
            }
            error.with_key(format_args!("({queue:?}, {uri:?})"))
        })
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        let claim = key.clone();
        let set = async {
            update.check()?;
            self.write(move |transaction| {
                let mut claims = transaction.open_table(CLAIMS)?;
                let key = (claim.queue(), claim.uri(), claim.request_id());
                let mut record = match claims.get(key)? {
                    Some(stored) => decode(claim.clone(), stored.value())?,
                    None => return Err(Failure::from(ErrorKind::NotFound)),
                };
                if record.version != update.old_version {
                    let stored = record.version;
                    return Err(Failure::from(ErrorKind::VersionMismatch { stored }));
                }
                record.metadata = update.metadata;
                record.version = update.new_version;
                record.updated_at = update.updated_at;
                claims.insert(key, encode(&record))?;
                Ok(())
            })
            .await
        };
        set.await
            .map_err(|error| named(error, Operation::UpdateMetadata).with_key(key))
    }
}
