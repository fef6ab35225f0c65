//! Where a table is: its project, instance and name, and the app profile that requests go through.

use changestore_core::{Error, ErrorKind, Operation, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::BACKEND;

/// What stands in a header's parameters as it is.
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A table, by the names that the API has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) project: String,
    pub(crate) instance: String,
    pub(crate) table: String,
    /// Empty for the instance's default.
    pub(crate) app_profile: String,
}

impl Address {
    /// Refuses names that cannot be any, before they get into a header.
    pub(crate) fn check(&self) -> Result<()> {
        let all = |text: &str, others: &str| {
            text.chars()
                .all(|char| char.is_ascii_alphanumeric() || others.contains(char))
        };
        let fits = |text: &str, longest: usize| (1..=longest).contains(&text.len());
        // A project of a domain is named like `example.com:name`.
        let message = if !fits(&self.project, 128) || !all(&self.project, "-.:") {
            "a project's id has letters, digits and `-`"
        } else if !fits(&self.instance, 128) || !all(&self.instance, "-") {
            "an instance's id has letters, digits and `-`"
        } else if !fits(&self.table, 50) || !all(&self.table, "_-.") {
            "a table's id has 1 to 50 letters, digits, `_`, `-` and `.`"
        } else if self.app_profile.len() > 128 || !all(&self.app_profile, "_-.") {
            "an app profile's id has letters, digits, `_`, `-` and `.`"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Configuration)
            .with_backend(BACKEND)
            .with_operation(Operation::Open)
            .with_message(message))
    }

    pub(crate) fn instance_name(&self) -> String {
        format!("projects/{}/instances/{}", self.project, self.instance)
    }

    pub(crate) fn table_name(&self) -> String {
        format!("{}/tables/{}", self.instance_name(), self.table)
    }

    /// What the data API is routed by.
    pub(crate) fn data_parameters(&self) -> String {
        format!(
            "table_name={}&app_profile_id={}",
            encoded(&self.table_name()),
            encoded(&self.app_profile)
        )
    }
}

/// A parameter of the admin API's routing.
pub(crate) fn parameter(name: &str, value: &str) -> String {
    format!("{name}={}", encoded(value))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PARAMETER).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(project: &str, instance: &str, table: &str, app_profile: &str) -> Address {
        Address {
            project: project.to_owned(),
            instance: instance.to_owned(),
            table: table.to_owned(),
            app_profile: app_profile.to_owned(),
        }
    }

    #[test]
    fn names_and_parameters_are_the_apis() {
        let address = address("example.com:p", "i", "t", "one-cluster");
        assert_eq!(
            address.table_name(),
            "projects/example.com:p/instances/i/tables/t"
        );
        assert_eq!(
            address.data_parameters(),
            "table_name=projects%2Fexample.com%3Ap%2Finstances%2Fi%2Ftables%2Ft&app_profile_id=one-cluster"
        );
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        address("p", "i", "t_1-x.y", "").check().unwrap();
        for (wrong, words) in [
            (address("", "i", "t", ""), "project"),
            (address("p/q", "i", "t", ""), "project"),
            (address("p", "i\n", "t", ""), "instance"),
            (address("p", "i", "", ""), "table"),
            (address("p", "i", &"t".repeat(51), ""), "table"),
            (address("p", "i", "t", "a b"), "app profile"),
        ] {
            let error = wrong.check().unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
