//! `dynamodb://TABLE?region=REGION&endpoint=URL`, with the AWS SDK's default chain of credentials.

use async_trait::async_trait;
use aws_config::{BehaviorVersion, Region};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use changestore_dynamo::aws_sdk_dynamodb::{Client, config};
use changestore_dynamo::{DynamoStore, schema};
use percent_encoding::percent_decode_str;

use super::{Access, Backend, Opened, SchemaStep};
use crate::failure::Result;

pub(super) struct Dynamo;

/// What a URL says.
#[derive(Debug, Default, PartialEq)]
struct Location {
    table: String,
    region: Option<String>,
    /// Another server than the region's.
    endpoint: Option<String>,
}

impl Location {
    fn parse(url: &str) -> Result<Self, String> {
        let behind = url
            .strip_prefix("dynamodb://")
            .ok_or("a table is named like `dynamodb://TABLE`")?;
        let (table, query) = behind.split_once('?').unwrap_or((behind, ""));
        let mut location = Self {
            table: decoded(table)?,
            ..Self::default()
        };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let place = match name {
                "region" => &mut location.region,
                "endpoint" => &mut location.endpoint,
                _ => {
                    return Err(format!(
                        "there is no parameter `{name}`; there are `region` and `endpoint`"
                    ));
                }
            };
            if value.is_empty() {
                return Err(format!("`{name}` needs a value"));
            }
            if place.replace(decoded(value)?).is_some() {
                return Err(format!("`{name}` stands there twice"));
            }
        }
        let is_url = |endpoint: &String| {
            ["http://", "https://"]
                .iter()
                .any(|scheme| endpoint.starts_with(scheme))
        };
        if !location.endpoint.as_ref().is_none_or(is_url) {
            return Err("`endpoint` is a URL, such as `http://127.0.0.1:8000`".to_owned());
        }
        Ok(location)
    }

    async fn store(self) -> Result<DynamoStore> {
        let https = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(https);
        if let Some(region) = self.region {
            loader = loader.region(Region::new(region));
        }
        let mut config = config::Builder::from(&loader.load().await);
        if let Some(endpoint) = self.endpoint {
            config = config.endpoint_url(endpoint);
        }
        let client = Client::from_conf(config.build());
        Ok(DynamoStore::builder(client)
            .with_table(self.table)
            .build()?)
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded
        .map_err(|_| "what is percent-encoded is no UTF-8")?
        .into_owned())
}

async fn store(url: &str) -> Result<DynamoStore> {
    let location = Location::parse(url)
        .map_err(|error| crate::failure::Failure::usage(anyhow::anyhow!(error)))?;
    location.store().await
}

#[async_trait]
impl Backend for Dynamo {
    fn schemes(&self) -> &'static [&'static str] {
        &["dynamodb"]
    }

    fn check(&self, url: &str) -> Result<(), String> {
        let location = Location::parse(url)?;
        changestore_dynamo::check_table_name(&location.table).map_err(|error| {
            error
                .message()
                .map_or_else(|| error.to_string(), str::to_owned)
        })
    }

    /// Never creates the table: that costs money.
    async fn open(&self, url: &str, _access: Access) -> Result<Opened> {
        Ok(Opened::new(store(url).await?, None))
    }

    async fn apply_schema(&self, url: &str) -> Result<()> {
        Ok(store(url).await?.create_table().await?)
    }

    fn schema(&self) -> Vec<SchemaStep> {
        let step = |name, sql| SchemaStep {
            version: 1,
            name,
            sql,
        };
        vec![
            step(
                "aws dynamodb create-table --cli-input-json",
                schema::CREATE_TABLE,
            ),
            step(
                "aws dynamodb update-time-to-live --cli-input-json",
                schema::UPDATE_TIME_TO_LIVE,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_table_and_perhaps_where_it_is() {
        let plain = Location::parse("dynamodb://claims").unwrap();
        assert_eq!(plain.table, "claims");
        assert_eq!((plain.region, plain.endpoint), (None, None));
        let whole = "dynamodb://claims?region=eu-central-1&endpoint=http%3A//127.0.0.1:8000";
        let whole = Location::parse(whole).unwrap();
        assert_eq!(whole.region.as_deref(), Some("eu-central-1"));
        assert_eq!(whole.endpoint.as_deref(), Some("http://127.0.0.1:8000"));
    }

    #[test]
    fn slips_are_said() {
        for (url, words) in [
            ("dynamodb:claims", "dynamodb://TABLE"),
            ("dynamodb://claims?zone=1", "no parameter `zone`"),
            ("dynamodb://claims?region", "`region` needs a value"),
            ("dynamodb://claims?region=a&region=b", "twice"),
            ("dynamodb://claims?endpoint=localhost", "is a URL"),
            ("dynamodb://", "3 to 255"),
        ] {
            let error = Dynamo.check(url).unwrap_err();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}
