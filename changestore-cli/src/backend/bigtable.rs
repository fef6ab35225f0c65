//! `bigtable://PROJECT/INSTANCE/TABLE?app_profile=PROFILE`, with Google's application default credentials.

use async_trait::async_trait;
use changestore_bigtable::{BigtableBuilder, BigtableStore, DEFAULT_TABLE, schema};
use percent_encoding::percent_decode_str;

use super::{Access, Backend, Opened, SchemaStep};
use crate::failure::{Failure, Result};

pub(super) struct Bigtable;

/// What a URL says.
#[derive(Debug, Default, PartialEq)]
struct Location {
    project: String,
    instance: String,
    table: String,
    app_profile: Option<String>,
    /// The address of an emulator; otherwise `BIGTABLE_EMULATOR_HOST`, or else Google.
    emulator: Option<String>,
}

impl Location {
    fn parse(url: &str) -> Result<Self, String> {
        let form = "a table is named like `bigtable://PROJECT/INSTANCE/TABLE`";
        let behind = url.strip_prefix("bigtable://").ok_or(form)?;
        let (path, query) = behind.split_once('?').unwrap_or((behind, ""));
        let names: Vec<_> = path.split('/').map(decoded).collect::<Result<_, _>>()?;
        let [project, instance, table] = <[String; 3]>::try_from(names).map_err(|_| form)?;
        let mut location = Self {
            project,
            instance,
            table,
            ..Self::default()
        };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let place = match name {
                "app_profile" => &mut location.app_profile,
                "emulator" => &mut location.emulator,
                _ => {
                    return Err(format!(
                        "there is no parameter `{name}`; there are `app_profile` and `emulator`"
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
        location.builder().check().map_err(|error| {
            error
                .message()
                .map_or_else(|| error.to_string(), str::to_owned)
        })?;
        Ok(location)
    }

    fn builder(&self) -> BigtableBuilder {
        let mut builder = BigtableStore::builder(&self.project, &self.instance)
            .with_table(&self.table)
            // A command makes few requests at a time.
            .with_channels(1);
        if let Some(app_profile) = &self.app_profile {
            builder = builder.with_app_profile(app_profile);
        }
        if let Some(emulator) = &self.emulator {
            builder = builder.with_emulator(emulator);
        }
        builder
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded
        .map_err(|_| "what is percent-encoded is no UTF-8")?
        .into_owned())
}

fn builder(url: &str) -> Result<BigtableBuilder> {
    let location = Location::parse(url).map_err(|error| Failure::usage(anyhow::anyhow!(error)))?;
    Ok(location.builder())
}

#[async_trait]
impl Backend for Bigtable {
    fn schemes(&self) -> &'static [&'static str] {
        &["bigtable"]
    }

    fn check(&self, url: &str) -> Result<(), String> {
        Location::parse(url).map(drop)
    }

    /// Never creates the table: the instance may be others' too.
    async fn open(&self, url: &str, _access: Access) -> Result<Opened> {
        Ok(Opened::new(builder(url)?.open().await?, None))
    }

    async fn apply_schema(&self, url: &str) -> Result<()> {
        Ok(builder(url)?.connect()?.create_table().await?)
    }

    fn schema(&self) -> Vec<SchemaStep> {
        vec![SchemaStep {
            version: 1,
            name: DEFAULT_TABLE,
            sql: schema::CREATE_TABLE,
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_table_and_perhaps_the_way_to_it() {
        let plain = Location::parse("bigtable://p/i/t").unwrap();
        let names = [&plain.project, &plain.instance, &plain.table];
        assert_eq!(names, ["p", "i", "t"]);
        assert_eq!((plain.app_profile, plain.emulator), (None, None));
        let whole = "bigtable://example.com%3Ap/i/t?app_profile=one&emulator=127.0.0.1:8086";
        let whole = Location::parse(whole).unwrap();
        assert_eq!(whole.project, "example.com:p");
        assert_eq!(whole.app_profile.as_deref(), Some("one"));
        assert_eq!(whole.emulator.as_deref(), Some("127.0.0.1:8086"));
    }

    #[test]
    fn slips_are_said() {
        for (url, words) in [
            ("bigtable:t", "bigtable://PROJECT"),
            ("bigtable://p/i", "bigtable://PROJECT"),
            ("bigtable://p/i/t/u", "bigtable://PROJECT"),
            ("bigtable://p//t", "an instance's id"),
            ("bigtable://p/i/a b", "a table's id"),
            ("bigtable://p/i/t?profile=1", "no parameter `profile`"),
            (
                "bigtable://p/i/t?app_profile",
                "`app_profile` needs a value",
            ),
            ("bigtable://p/i/t?app_profile=a&app_profile=b", "twice"),
            ("bigtable://p/i/t?emulator=localhost", "host and port"),
        ] {
            let error = Bigtable.check(url).unwrap_err();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}
