//! Making the table, and opening a store of one that is not as it must be.

use changestore_core::{ChangeStore, CreateOutcome, DocumentStore, ErrorKind, Operation};
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::gc_rule::Rule;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::{
    ColumnFamily, CreateTableRequest, Table,
};
use tonic::Code;

use super::*;
use support::proxy::Fault;

fn built(table: &str) -> BigtableBuilder {
    support::builder(&support::url(), table)
}

/// A table with these families and no rules.
async fn somebody_elses(families: &[&str]) -> String {
    let table = support::new_table();
    let families = families
        .iter()
        .map(|family| ((*family).to_owned(), ColumnFamily::default()));
    let request = CreateTableRequest {
        parent: format!(
            "projects/{}/instances/{}",
            support::PROJECT,
            support::INSTANCE
        ),
        table_id: table.clone(),
        table: Some(Table {
            column_families: families.collect(),
            ..Table::default()
        }),
        ..CreateTableRequest::default()
    };
    support::admin().create_table(request).await.unwrap();
    table
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn creating_it_again_changes_nothing() {
    let site = Site::new().await;
    assert_eq!(
        site.store.create(claim("1")).await.unwrap(),
        CreateOutcome::Created
    );
    support::collect_nothing(site.store.table()).await;
    site.store.create_table().await.unwrap();
    assert_eq!(
        site.store.get_by_uri("queue", "uri").await.unwrap().len(),
        1
    );
    let families = support::described(site.store.table()).await.column_families;
    assert!(families.values().all(|family| {
        let rule = family.gc_rule.as_ref().and_then(|gc| gc.rule.as_ref());
        rule.is_none()
    }));
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn what_is_dead_for_a_day_is_collected_and_claims_are_not() {
    let site = Site::new().await;
    let families = support::described(site.store.table()).await.column_families;
    let rules: Vec<_> = families
        .iter()
        .map(|(name, family)| (name.as_str(), family.gc_rule.clone().unwrap().rule.unwrap()))
        .collect();
    let day = || {
        Rule::MaxAge(prost_types::Duration {
            seconds: 86_400,
            nanos: 0,
        })
    };
    let expected = [("c", Rule::MaxNumVersions(1)), ("k", day()), ("r", day())];
    assert_eq!(rules, expected);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn many_may_create_it_at_once() {
    let table = support::new_table();
    let stores: Vec<_> = (0..8).map(|_| built(&table).connect().unwrap()).collect();
    let created = futures::future::join_all(stores.iter().map(BigtableStore::create_table)).await;
    for created in created {
        created.unwrap();
    }
    built(&table).open().await.unwrap();
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_missing_one_is_said_when_it_is_opened_and_when_it_is_used() {
    let error = built("no-such-table").open().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(error.operation(), Some(Operation::Open));
    assert!(error.to_string().contains("no such table"), "{error}");
    let store = built("no-such-table").connect().unwrap();
    let error = store.get(&key("a")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("schema apply"), "{error}");
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn missing_families_are_named_and_then_created() {
    let table = somebody_elses(&["r", "theirs"]).await;
    let error = built(&table).open().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.to_string().contains("the families c, k"), "{error}");
    let store = built(&table).connect().unwrap();
    let error = store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    store.create_table().await.unwrap();
    let store = built(&table).open().await.unwrap();
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
    let families = support::described(store.table()).await.column_families;
    let names: Vec<_> = families.into_keys().collect();
    assert_eq!(names, ["c", "k", "r", "theirs"]);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_app_profile_without_transactions_is_refused_at_once() {
    let site = Site::new().await;
    let table = site.store.table().rsplit('/').next().unwrap().to_owned();
    let opened = || support::builder(site.proxy.address(), &table).open();
    let refusal = "Single-row transactions are not allowed by this app profile";
    site.proxy
        .next([Some(Fault::Refuse(Code::FailedPrecondition, refusal))]);
    let error = opened().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("app profile"), "{error}");
    // Who may not write may still read, and who may not look at the table may use it.
    for method in ["CheckAndMutateRow", "GetTable"] {
        let refused = Fault::Refuse(Code::PermissionDenied, "no");
        site.proxy.next_of(method, refused);
        opened().await.unwrap();
    }
    site.proxy
        .next([Some(Fault::Refuse(Code::Unauthenticated, "no"))]);
    let error = opened().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied);
}
