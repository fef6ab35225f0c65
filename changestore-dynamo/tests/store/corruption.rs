//! Items that no store has written. A table's attributes have no types and no checks.

use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeAction, AttributeValue, AttributeValueUpdate};
use changestore_core::Clock as _;
use storetest::corruption::{self, Field, Row, Tally, Value, Vandal};

use super::*;

#[derive(Debug)]
struct Direct {
    client: Client,
    table: String,
}

#[async_trait]
impl Vandal for Direct {
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool {
        let name = match field {
            Field::Version => "version",
            Field::Etag => "etag",
            Field::ExpireAt => "expire_at",
            // None is how empty data are stored.
            Field::Data if *value == Value::Nothing => return false,
            Field::Data => "data",
            Field::Counter => "value",
            Field::Metadata => "metadata",
            Field::CreatedAt => "created_at",
            Field::UpdatedAt => "updated_at",
        };
        let (pk, sk) = match row {
            Row::Document(key) => (format!("D#{}", key.pk()), key.sk().to_owned()),
            Row::Claim(key) => (
                format!("C#{}", key.queue()),
                format!("{}\0{}", key.uri(), key.request_id()),
            ),
        };
        let update = AttributeValueUpdate::builder();
        let update = match value {
            Value::Nothing => update.action(AttributeAction::Delete),
            Value::Integer(number) => update.value(AttributeValue::N(number.to_string())),
            Value::Text(text) => update.value(AttributeValue::S(text.clone())),
            Value::Bytes(bytes) => update.value(AttributeValue::B(Blob::new(bytes.clone()))),
        };
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", AttributeValue::S(pk))
            .key("sk", AttributeValue::S(sk))
            .attribute_updates(name, update.build());
        // Not every server takes an empty value.
        let updated = update.send().await;
        assert!(
            updated.is_ok() || *value == Value::Text(String::new()),
            "{updated:?}"
        );
        updated.is_ok()
    }
}

impl Site {
    fn vandal(&self) -> Direct {
        Direct {
            client: support::client(&support::url()),
            table: self.store.table().to_owned(),
        }
    }
}

fn check(tally: Tally) {
    assert!(tally.spoiled > 100, "{tally:?}");
    assert!(tally.corrupt > tally.spoiled / 2, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn spoiled_documents_are_told_and_harm_nobody() {
    let site = Site::new().await;
    let now = site.clock.now();
    check(corruption::documents(&site.store, &site.vandal(), now, 1, 12).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
async fn spoiled_claims_are_told_and_harm_nobody() {
    let site = Site::new().await;
    check(corruption::claims(&site.store, &site.vandal(), 1, 12).await);
}
