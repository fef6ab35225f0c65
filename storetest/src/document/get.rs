//! `get`: the record, or not found.

use changestore_core::{DocumentStore, Key};

use crate::harness::Fixture;

pub(super) async fn a_missing_record_is_not_found(fixture: &Fixture<dyn DocumentStore>) {
    let key = Key::new("p", "s").unwrap();
    assert!(fixture.store.get(&key).await.unwrap_err().is_not_found());
}
