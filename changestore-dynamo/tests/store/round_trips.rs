//! How many requests an operation makes: one, if nobody else is at its key.

use changestore_core::{
    ChangeStore, Condition, CreateOutcome, DocumentStore, Metadata, MetadataUpdate, Timestamp,
    Version,
};

use super::*;

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn every_operation_is_one_request() {
    let site = Site::new().await;
    let store = &site.store;
    let one = |operation: &str| assert_eq!(site.proxy.seen(), [operation]);

    assert_eq!(
        store.create(claim("1")).await.unwrap(),
        CreateOutcome::Created
    );
    one("PutItem");
    store.get_by_uri("queue", "uri").await.unwrap();
    one("Query");
    let update = MetadataUpdate {
        metadata: Metadata::default(),
        old_version: Version::FIRST,
        new_version: Version::from(2),
        updated_at: Timestamp::EPOCH,
    };
    store
        .update_metadata(&claim("1").key, update)
        .await
        .unwrap();
    one("UpdateItem");

    store.put(record("a", "1"), Condition::None).await.unwrap();
    one("UpdateItem");
    store
        .put(record("b", "1"), Condition::IfAbsent)
        .await
        .unwrap();
    one("PutItem");
    let second = store
        .put(record("a", "2"), Condition::IfVersion(Version::FIRST))
        .await
        .unwrap();
    one("PutItem");
    store
        .put(record("a", "3"), Condition::IfEtag(second.etag))
        .await
        .unwrap();
    one("UpdateItem");
    store.get(&key("a")).await.unwrap();
    one("GetItem");
    store.delete(&key("a"), Condition::None).await.unwrap();
    one("DeleteItem");
    store.increment(&key("n"), 1, None).await.unwrap();
    one("UpdateItem");
    store
        .increment(&key("n"), 1, Some(site.clock_after(1)))
        .await
        .unwrap();
    one("UpdateItem");
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn over_what_has_expired_it_is_two_at_most() {
    let site = Site::new().await;
    let store = &site.store;
    let soon = site.clock_after(1);
    let expired = |sk| record(sk, "1").with_expire_at(soon);
    for sk in ["a", "b"] {
        store.put(expired(sk), Condition::None).await.unwrap();
    }
    store.increment(&key("n"), 1, Some(soon)).await.unwrap();
    site.clock.set(soon);
    // A server that does not return what a condition failed on has to be asked, once more.
    let asked = ["UpdateItem", "GetItem", "PutItem"];
    let two = |seen: Vec<String>| {
        assert!(
            seen == asked || seen == ["UpdateItem", "PutItem"],
            "{seen:?}"
        );
    };
    site.proxy.seen();
    store
        .put(record("a", "2"), Condition::IfAbsent)
        .await
        .unwrap();
    assert_eq!(site.proxy.seen(), ["PutItem"]);
    store.put(record("b", "2"), Condition::None).await.unwrap();
    two(site.proxy.seen());
    store.increment(&key("n"), 1, None).await.unwrap();
    two(site.proxy.seen());
}
