//! What the owner wants: which tables are tracked, how, and in which families readers ask for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use changestore_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::identifiers::is_reserved;

/// Sequence values that the log keeps, if nothing else is said.
pub const DEFAULT_RETENTION: u64 = 1_000_000;

/// The least retention.
pub const MIN_RETENTION: u64 = 1_024;

/// How much is recorded of a table's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The key of each changed row.
    #[default]
    Rows,
    /// Only that the table has changed: cheaper, and for tables whose rows have no key.
    Table,
}

impl Mode {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Table => "table",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "rows" => Ok(Self::Rows),
            "table" => Ok(Self::Table),
            _ => Err(Error::invalid_argument(
                "mode",
                format!("it is rows or table, not {text:?}"),
            )),
        }
    }
}

/// The tables to be tracked and the families; all of them, whatever was tracked before.
///
/// A plan without tables and families keeps those of a contract that is there.
///
/// ```
/// use changestore_sql::contract::{ContractPlan, Mode};
///
/// let plan = ContractPlan::from_toml(r#"
///     retention = 200000
///     [tables]
///     threads = "rows"
///     statistics = "table"
///     [families]
///     dashboard = ["threads", "statistics"]
/// "#)?;
/// let same = ContractPlan::new()
///     .with_table("threads", Mode::Rows)
///     .with_table("statistics", Mode::Table)
///     .with_family("dashboard", ["threads", "statistics"])
///     .with_retention(200_000);
/// assert_eq!(plan, same);
/// # Ok::<(), changestore_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractPlan {
    #[serde(default)]
    pub(super) tables: BTreeMap<String, Mode>,
    #[serde(default)]
    pub(super) families: BTreeMap<String, BTreeSet<String>>,
    pub(super) retention: Option<u64>,
}

impl ContractPlan {
    /// A plan without tables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From a file's text: `retention`, and the sections `[tables]` (name = `"rows"` or `"table"`) and
    /// `[families]` (name = an array of tables), each optional.
    ///
    /// # Errors
    /// [`InvalidArgument`](changestore_core::ErrorKind::InvalidArgument) with the line that is wrong.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            Error::invalid_argument("plan", error.to_string().trim_end().to_owned())
        })
    }

    /// Tracks a table.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<String>, mode: Mode) -> Self {
        self.tables.insert(name.into(), mode);
        self
    }

    /// Lets readers ask for these tables by one name. They may be missing; one that is there has to be
    /// tracked, or the family's readers read everything at every poll.
    #[must_use]
    pub fn with_family<T: Into<String>>(
        mut self,
        name: impl Into<String>,
        tables: impl IntoIterator<Item = T>,
    ) -> Self {
        let tables = tables.into_iter().map(Into::into);
        self.families.entry(name.into()).or_default().extend(tables);
        self
    }

    /// How many sequence values the log keeps, at least [`MIN_RETENTION`]. Without, it stays what it is, and is
    /// [`DEFAULT_RETENTION`] at first.
    #[must_use]
    pub fn with_retention(mut self, retention: u64) -> Self {
        self.retention = Some(retention);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.families.is_empty()
    }

    /// What can be told without the database.
    pub(super) fn check(&self) -> Result<()> {
        if self
            .retention
            .is_some_and(|retention| retention < MIN_RETENTION || i64::try_from(retention).is_err())
        {
            return Err(Error::invalid_argument(
                "retention",
                format!("it is at least {MIN_RETENTION}, and at most {}", i64::MAX),
            ));
        }
        if self.tables.is_empty() && !self.families.is_empty() {
            // It would mean to track nothing any more, and hardly anybody says that by families.
            return Err(Error::invalid_argument(
                "tables",
                "a plan with families names the tracked tables as well",
            ));
        }
        let tables = self.tables.keys();
        if let Some(name) = tables.clone().find(|name| is_reserved(name)) {
            return Err(Error::invalid_argument(
                "tables",
                format!("{name:?} belongs to SQLite or to the contract itself"),
            ));
        }
        let mut seen = BTreeSet::new();
        for name in tables {
            if !seen.insert(name.to_ascii_lowercase()) {
                return Err(Error::invalid_argument(
                    "tables",
                    format!("{name:?} is there twice"),
                ));
            }
        }
        if let Some((family, _)) = self.families.iter().find(|(_, tables)| tables.is_empty()) {
            return Err(Error::invalid_argument(
                "families",
                format!("the family {family:?} has no tables"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_wrong_is_refused_with_its_line() {
        for (text, part) in [
            ("retentoin = 5000", "retentoin"),
            ("[tables]\na = \"row\"", "row"),
            ("[families]\nf = \"t\"", "line 2"),
            ("[tables]\na = \"rows\"\na = \"rows\"", "line 3"),
        ] {
            let error = ContractPlan::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_plan_that_no_database_can_fulfil_is_refused() {
        for (plan, part) in [
            (ContractPlan::new().with_retention(1023), "at least 1024"),
            (ContractPlan::new().with_retention(u64::MAX), "at most"),
            (
                ContractPlan::new().with_table("Change_Contract_log", Mode::Rows),
                "contract itself",
            ),
            (
                ContractPlan::new().with_table("sqlite_sequence", Mode::Table),
                "SQLite",
            ),
            (
                ContractPlan::new()
                    .with_table("a", Mode::Rows)
                    .with_table("A", Mode::Rows),
                "twice",
            ),
            (
                ContractPlan::new()
                    .with_table("a", Mode::Rows)
                    .with_family("f", [] as [&str; 0]),
                "no tables",
            ),
            (
                ContractPlan::new().with_family("f", ["a"]),
                "names the tracked tables",
            ),
        ] {
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains(part), "{plan:?}: {error}");
        }
    }
}
