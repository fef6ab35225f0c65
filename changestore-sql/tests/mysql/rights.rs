//! What a user may do, and what it needs.

use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Clock as _, Condition, DocumentStore as _, DocumentStoreExt as _, ErrorKind,
    ManualClock, MetadataUpdate, Outcome, QueryOptions, Timestamp, Version, limits,
};
use changestore_sql::MySqlStore;
use engines::mariadb;

use crate::server::{run, with_prefix};
use crate::{claim, created, key, record};

/// The rights that SECURITY.md names, as it names them.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_user_with_the_least_rights_does_everything_and_no_more() {
    let server = mariadb::start().unwrap();
    let owner = with_prefix(&server.url(), "changestore_");
    MySqlStore::migrate_with(owner).await.unwrap();
    let create = "CREATE USER least@'%' IDENTIFIED BY 'least'; \
        GRANT SELECT ON changestore.changestore_migrations TO least@'%'; \
        GRANT SELECT, INSERT, UPDATE ON changestore.changestore_claims TO least@'%'; \
        GRANT SELECT, INSERT, UPDATE, DELETE ON changestore.changestore_documents TO least@'%'";
    run(&server, create).await;
    let url = format!(
        "mysql://least:least@127.0.0.1:{}/changestore",
        server.port()
    );
    let clock = ManualClock::new(Timestamp::from_millis(1_795_996_800_000).unwrap());
    let options = || with_prefix(&url, "changestore_").with_clock(clock.clone());
    let store = MySqlStore::open_with(options()).await.unwrap();

    created(&store, "r").await;
    let update = MetadataUpdate {
        metadata: claim("r").metadata,
        old_version: Version::FIRST,
        new_version: Version::FIRST.next(),
        updated_at: clock.now(),
    };
    store
        .update_metadata(&claim("r").key, update)
        .await
        .unwrap();
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 1);
    for _ in 0..2 {
        store.put(record("k", ""), Condition::None).await.unwrap();
    }
    store.get(&key("k")).await.unwrap();
    let found = store.query_all("partition", "", QueryOptions::default());
    assert_eq!(found.await.unwrap().len(), 1);
    store.delete(&key("k"), Condition::None).await.unwrap();
    let soon = clock.now().saturating_add(Duration::from_millis(1));
    assert_eq!(store.increment(&key("n"), 1, soon.into()).await.unwrap(), 1);
    clock.advance(limits::GARBAGE_GRACE + Duration::from_secs(1));
    assert_eq!(store.collect_expired().await.unwrap(), 1);

    // What it may not do is told as that, whoever asks for it.
    let error = MySqlStore::migrate_with(with_prefix(&url, "other_"))
        .await
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    run(
        &server,
        "REVOKE UPDATE ON changestore.changestore_claims FROM least@'%'; \
         REVOKE DELETE ON changestore.changestore_documents FROM least@'%'; FLUSH PRIVILEGES",
    )
    .await;
    store.put(record("k", ""), Condition::None).await.unwrap();
    let error = store.delete(&key("k"), Condition::None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    store.get(&key("k")).await.unwrap();
}
