//! `create`: idempotent, first write wins.

use changestore_core::{ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, Metadata, Timestamp};

use crate::harness::Fixture;

pub(super) async fn the_same_triple_again_changes_nothing(fixture: &Fixture<dyn ChangeStore>) {
    let key = ChangeKey::new("queue", "uri", "request").unwrap();
    let at = |millis| Timestamp::from_millis(millis).unwrap();
    let first = ChangeRecord::new(key.clone(), Metadata::new(r#"{"n": 1}"#).unwrap(), at(1));
    let second = ChangeRecord::new(key, Metadata::new(r#"{"n": 2}"#).unwrap(), at(2));
    assert_eq!(
        fixture.store.create(first.clone()).await.unwrap(),
        CreateOutcome::Created
    );
    assert_eq!(
        fixture.store.create(second).await.unwrap(),
        CreateOutcome::AlreadyThere
    );
    assert_eq!(
        fixture.store.get_by_uri("queue", "uri").await.unwrap(),
        [first]
    );
}
