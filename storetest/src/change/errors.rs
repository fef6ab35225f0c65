//! What failures say, and what they do not.

use changestore_core::{ChangeStore, ErrorKind, Metadata, MetadataUpdate, Operation};

use super::claims::{claim, create, json, key, update, version};
use crate::expect;
use crate::harness::Fixture;

pub(super) async fn they_name_backend_operation_and_key(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claim = claim("queue", "uri", "request");
    let missing = store.update_metadata(&claim.key, update(1, 2)).await;
    let missing = expect::not_found(missing);
    expect::names(&missing, Operation::UpdateMetadata, &claim.key);
    create(store, &claim).await;
    let mismatch = store.update_metadata(&claim.key, update(2, 3)).await;
    let mismatch = expect::version_mismatch(mismatch, version(1));
    expect::names(&mismatch, Operation::UpdateMetadata, &claim.key);
}

pub(super) async fn keys_are_printed_escaped(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let missing = key("queue\n", "\"uri\"", "\u{1b}[31m");
    let error = expect::not_found(store.update_metadata(&missing, update(1, 2)).await);
    let printed = error.to_string();
    assert!(!printed.contains(['\n', '\u{1b}']), "{printed:?}");
    assert!(
        printed.contains(r#""queue\n", "\"uri\"", "\u{1b}[31m""#),
        "{printed}"
    );
}

pub(super) async fn nothing_printed_holds_metadata(fixture: &Fixture<dyn ChangeStore>) {
    const SECRET: &str = "hunter2";
    let store = &*fixture.store;
    let mut claim = claim("queue", "uri", "request");
    claim.metadata = json(format!(r#"{{"token": "{SECRET}"}}"#));
    let change = MetadataUpdate {
        metadata: claim.metadata.clone(),
        ..update(5, 6)
    };
    let missing = store.update_metadata(&claim.key, change.clone()).await;
    expect::keeps_secret(&missing.unwrap_err(), SECRET);
    create(store, &claim).await;
    let mismatch = store.update_metadata(&claim.key, change.clone()).await;
    expect::keeps_secret(&mismatch.unwrap_err(), SECRET);
    let mut wrong = claim.clone();
    wrong.version = version(2);
    expect::keeps_secret(&store.create(wrong).await.unwrap_err(), SECRET);
    let zero = MetadataUpdate {
        new_version: version(0),
        ..change.clone()
    };
    let zero = store.update_metadata(&claim.key, zero).await;
    expect::keeps_secret(&zero.unwrap_err(), SECRET);
    let not_json = Metadata::new(format!("{SECRET}: {SECRET}")).unwrap_err();
    expect::keeps_secret(&not_json, SECRET);
    let records = store.get_by_uri("queue", "uri").await.unwrap();
    for printed in [
        format!("{claim:?}"),
        format!("{change:?}"),
        format!("{records:#?}"),
        format!("{store:?}"),
    ] {
        assert!(!printed.contains(SECRET), "metadata in {printed}");
    }
}

pub(super) async fn a_refused_argument_is_no_other_kind(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    // A caller tells these by the kind alone: none of them is "not found" or a mismatch.
    let refused = [
        store.get_by_uri("", "uri").await.unwrap_err(),
        store.get_by_uri("queue", "\0").await.unwrap_err(),
        store
            .update_metadata(&key("queue", "uri", "nobody"), update(1, 0))
            .await
            .unwrap_err(),
    ];
    for error in refused {
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { reason, .. } if !reason.is_empty()),
            "{error:?}"
        );
    }
}
