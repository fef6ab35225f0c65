//! The table: its definition, and making it where nobody else does.

use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TableStatus,
    TimeToLiveSpecification, TimeToLiveStatus,
};
use changestore_core::{Error, ErrorKind, Operation, Result};
use changestore_retry::Resend;
use tokio::time::Instant;

use crate::attempts::Sent;
use crate::layout::{PK, SK, TTL};
use crate::store::{DynamoStore, Shared, call};

/// A new table takes some seconds.
const READY_WITHIN: Duration = Duration::from_mins(2);
/// Between two looks whether it is ready; each is twice the one before.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LONGEST_LOOK: Duration = Duration::from_secs(2);

impl DynamoStore {
    /// Creates the table, billed on demand, if it is not there; waits until it can be used; turns its TTL on.
    ///
    /// For tests and small set-ups; `schema/` has the same for CloudFormation and for `aws dynamodb
    /// create-table`. Where it is there already nothing about it is changed but its TTL, if that is off. The TTL
    /// only collects garbage: where the server has none, or the right to turn it on is lacking, the table
    /// works the same and keeps what has expired.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) if there is a table of that name with other keys;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied);
    /// [`Unavailable`](ErrorKind::Unavailable) if it is not ready after two minutes.
    pub async fn create_table(&self) -> Result<()> {
        call(
            Operation::Migrate,
            &self.shared.table,
            self.shared.create_table(),
        )
        .await
    }
}

impl Shared {
    async fn create_table(&self) -> Result<()> {
        let (attributes, keys) =
            definition().map_err(|error| Error::new(ErrorKind::Other).with_source(error))?;
        // Sent again it finds its own table.
        let mut attempts = self.attempts(Resend::Reads, 0);
        loop {
            let request = async || {
                let created = self
                    .client
                    .create_table()
                    .table_name(&self.table)
                    .set_attribute_definitions(Some(attributes.clone()))
                    .set_key_schema(Some(keys.clone()))
                    .billing_mode(BillingMode::PayPerRequest)
                    .send()
                    .await;
                match created {
                    Err(error)
                        if error
                            .as_service_error()
                            .is_some_and(CreateTableError::is_resource_in_use_exception) =>
                    {
                        Ok(())
                    }
                    created => created.map(drop),
                }
            };
            if let Sent::Answered(()) = attempts.send(request).await? {
                break;
            }
        }
        self.wait_until_active().await?;
        // The table works without.
        let _ = self.turn_ttl_on().await;
        Ok(())
    }

    async fn wait_until_active(&self) -> Result<()> {
        let until = Instant::now() + READY_WITHIN;
        let mut pause = FIRST_LOOK;
        loop {
            let mut attempts = self.attempts(Resend::Reads, 0);
            let described = attempts
                .answer(|| self.client.describe_table().table_name(&self.table).send())
                .await;
            let table = match described {
                Ok(described) => described.table,
                // Just created, it may not be known everywhere.
                Err(error) if *error.kind() == ErrorKind::Configuration => None,
                Err(error) => return Err(error),
            };
            if let Some(table) = table {
                check_keys(table.key_schema())?;
                if matches!(
                    table.table_status(),
                    Some(TableStatus::Active | TableStatus::Updating)
                ) {
                    return Ok(());
                }
            }
            if Instant::now() + pause > until {
                return Err(
                    Error::new(ErrorKind::Unavailable).with_message("the table is not ready yet")
                );
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_LOOK);
        }
    }

    async fn turn_ttl_on(&self) -> Result<()> {
        let mut attempts = self.attempts(Resend::Reads, 0);
        let described = attempts
            .answer(|| {
                self.client
                    .describe_time_to_live()
                    .table_name(&self.table)
                    .send()
            })
            .await?;
        let status = described
            .time_to_live_description
            .and_then(|ttl| ttl.time_to_live_status);
        if matches!(
            status,
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
        ) {
            return Ok(());
        }
        let specification = TimeToLiveSpecification::builder()
            .attribute_name(TTL)
            .enabled(true)
            .build()
            .map_err(|error| Error::new(ErrorKind::Other).with_source(error))?;
        let turned_on = attempts.answer(|| {
            self.client
                .update_time_to_live()
                .table_name(&self.table)
                .time_to_live_specification(specification.clone())
                .send()
        });
        turned_on.await.map(drop)
    }
}

/// The attributes and the key of the table.
fn definition() -> Result<(Vec<AttributeDefinition>, Vec<KeySchemaElement>), BuildError> {
    let attribute = |name| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build()
    };
    let key = |name, kind| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
    };
    Ok((
        vec![attribute(PK)?, attribute(SK)?],
        vec![key(PK, KeyType::Hash)?, key(SK, KeyType::Range)?],
    ))
}

fn check_keys(keys: &[KeySchemaElement]) -> Result<()> {
    let mut found: Vec<_> = keys
        .iter()
        .map(|key| (key.attribute_name(), key.key_type()))
        .collect();
    found.sort_unstable_by_key(|(name, _)| *name);
    if found == [(PK, &KeyType::Hash), (SK, &KeyType::Range)] {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Configuration)
        .with_message("there is such a table already, and it has other keys than pk and sk"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{DEFAULT_TABLE, schema};

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    /// The definition as the API's JSON has it.
    fn as_json() -> Value {
        let (attributes, keys) = definition().unwrap();
        let attributes = attributes.iter().map(|attribute| {
            json!({
                "AttributeName": attribute.attribute_name(),
                "AttributeType": attribute.attribute_type().as_str(),
            })
        });
        let keys = keys.iter().map(|key| {
            json!({ "AttributeName": key.attribute_name(), "KeyType": key.key_type().as_str() })
        });
        json!({
            "TableName": DEFAULT_TABLE,
            "AttributeDefinitions": attributes.collect::<Vec<_>>(),
            "KeySchema": keys.collect::<Vec<_>>(),
            "BillingMode": BillingMode::PayPerRequest.as_str(),
        })
    }

    #[test]
    fn the_create_table_file_is_what_the_code_creates() {
        assert_eq!(parse(schema::CREATE_TABLE), as_json());
        let ttl = json!({
            "TableName": DEFAULT_TABLE,
            "TimeToLiveSpecification": { "AttributeName": TTL, "Enabled": true },
        });
        assert_eq!(parse(schema::UPDATE_TIME_TO_LIVE), ttl);
    }

    #[test]
    fn the_cloudformation_template_is_what_the_code_creates() {
        let template = parse(schema::CLOUDFORMATION);
        assert_eq!(
            template["Parameters"]["TableName"]["Default"],
            DEFAULT_TABLE
        );
        let table = &template["Resources"]["Table"];
        assert_eq!(table["Type"], "AWS::DynamoDB::Table");
        // A stack that is deleted or changed leaves the data.
        assert_eq!(table["DeletionPolicy"], "Retain");
        assert_eq!(table["UpdateReplacePolicy"], "Retain");
        let mut properties = table["Properties"].clone();
        let ttl = properties["TimeToLiveSpecification"].take();
        assert_eq!(ttl, json!({ "AttributeName": TTL, "Enabled": true }));
        assert_eq!(
            properties["TableName"].take(),
            json!({ "Ref": "TableName" })
        );
        for (name, expected) in as_json().as_object().unwrap() {
            if name != "TableName" {
                assert_eq!(&properties[name], expected, "{name}");
            }
        }
    }
}
