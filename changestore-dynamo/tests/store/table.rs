//! Making the table.

use changestore_core::{ChangeStore, CreateOutcome, DocumentStore, ErrorKind, Operation};

use super::*;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn creating_it_again_changes_nothing() {
    let site = Site::new().await;
    assert_eq!(
        site.store.create(claim("1")).await.unwrap(),
        CreateOutcome::Created
    );
    site.store.create_table().await.unwrap();
    assert_eq!(
        site.store.get_by_uri("queue", "uri").await.unwrap().len(),
        1
    );
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn many_may_create_it_at_once() {
    let client = support::client(&support::url());
    let table = support::new_table();
    let stores: Vec<_> = (0..8)
        .map(|_| {
            DynamoStore::builder(client.clone())
                .with_table(&table)
                .build()
                .unwrap()
        })
        .collect();
    let created = futures::future::join_all(stores.iter().map(DynamoStore::create_table)).await;
    for created in created {
        created.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn a_missing_one_is_named() {
    let store = DynamoStore::builder(support::client(&support::url()))
        .with_table("no-such-table")
        .build()
        .unwrap();
    let error = store.get(&key("a")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert_eq!(error.operation(), Some(Operation::Get));
    assert!(
        error.to_string().contains("no table no-such-table"),
        "{error}"
    );
    assert!(!error.is_retryable());
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn somebody_elses_is_refused() {
    let client = support::client(&support::url());
    let table = support::new_table();
    client
        .create_table()
        .table_name(&table)
        .attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name("id")
                .attribute_type(ScalarAttributeType::N)
                .build()
                .unwrap(),
        )
        .key_schema(
            KeySchemaElement::builder()
                .attribute_name("id")
                .key_type(KeyType::Hash)
                .build()
                .unwrap(),
        )
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .unwrap();
    let store = DynamoStore::builder(client)
        .with_table(table)
        .build()
        .unwrap();
    let error = store.create_table().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("other keys"), "{error}");
}
