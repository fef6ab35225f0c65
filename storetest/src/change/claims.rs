//! Claims as the cases write and read them.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, ChangeStoreExt, CreateOutcome, Metadata, MetadataUpdate,
    Timestamp, Version,
};

pub(super) fn key(queue: &str, uri: &str, request_id: &str) -> ChangeKey {
    ChangeKey::new(queue, uri, request_id).unwrap()
}

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

pub(super) fn json(text: impl Into<String>) -> Metadata {
    Metadata::new(text).unwrap()
}

pub(super) fn version(number: u64) -> Version {
    Version::new(number).unwrap()
}

/// A new claim whose metadata tell it from others by a number.
pub(super) fn numbered(key: ChangeKey, number: usize) -> ChangeRecord {
    let metadata = json(format!(r#"{{"number": {number}}}"#));
    ChangeRecord::new(key, metadata, at(1_000))
}

pub(super) fn claim(queue: &str, uri: &str, request_id: &str) -> ChangeRecord {
    numbered(key(queue, uri, request_id), 0)
}

/// Writes a claim that is not there yet.
pub(super) async fn create(store: &dyn ChangeStore, claim: &ChangeRecord) {
    let outcome = store.create(claim.clone()).await.unwrap();
    assert_eq!(outcome, CreateOutcome::Created, "{}", claim.key);
}

/// The claim at the key, which must be there.
pub(super) async fn stored(store: &dyn ChangeStore, key: &ChangeKey) -> ChangeRecord {
    let found = store.find_claim(key).await.unwrap();
    found.unwrap_or_else(|| panic!("no claim {key}"))
}

/// From one version to another, with other metadata and a later time than [`numbered`] gives.
pub(super) fn update(old: u64, new: u64) -> MetadataUpdate {
    MetadataUpdate {
        metadata: json(format!(r#"{{"version": {new}}}"#)),
        old_version: version(old),
        new_version: version(new),
        updated_at: at(2_000),
    }
}

/// The claim as the update leaves it.
pub(super) fn updated(claim: &ChangeRecord, update: &MetadataUpdate) -> ChangeRecord {
    ChangeRecord {
        metadata: update.metadata.clone(),
        updated_at: update.updated_at,
        version: update.new_version,
        ..claim.clone()
    }
}
