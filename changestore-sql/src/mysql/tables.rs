//! The names of the tables: a prefix that the user chooses, and the rest.

use changestore_core::{Error, ErrorKind, Result};

/// What the schema's files call them, and what they are called if nothing else is said.
pub(super) const DEFAULT_PREFIX: &str = "changestore_";

/// With the rest, and with what MySQL adds for a constraint's name, 64 characters.
const LONGEST_PREFIX: usize = 32;

/// A checked prefix. Lower case only: some servers fold the names of tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tables {
    prefix: String,
}

impl Tables {
    pub(super) fn new(prefix: &str) -> Result<Self> {
        let is_plain = prefix
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let begins_well = prefix.starts_with(|first: char| !first.is_ascii_digit());
        if !is_plain || !begins_well || prefix.len() > LONGEST_PREFIX {
            return Err(Error::new(ErrorKind::Configuration).with_message(format!(
                "a table prefix has 1 to {LONGEST_PREFIX} lower-case letters, digits and underscores, \
                 and begins with no digit; {prefix:?} is none"
            )));
        }
        Ok(Self {
            prefix: prefix.to_owned(),
        })
    }

    pub(super) fn claims(&self) -> String {
        self.name("claims")
    }

    pub(super) fn documents(&self) -> String {
        self.name("documents")
    }

    /// Not sqlx's own table: the database may carry its owner's migrations beside these.
    pub(super) fn migrations(&self) -> String {
        self.name("migrations")
    }

    /// A text of the schema or the catalogue with these tables in it.
    pub(super) fn put_into(&self, sql: &str) -> String {
        sql.replace(DEFAULT_PREFIX, &self.prefix)
    }

    fn name(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            prefix: DEFAULT_PREFIX.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_plain_name() {
        for prefix in ["q_", "_", "land2_", &"a".repeat(32)] {
            assert!(Tables::new(prefix).is_ok(), "{prefix}");
        }
        for prefix in [
            "",
            "Q_",
            "2_",
            "a-",
            "a`b",
            "a.b",
            "ä",
            " ",
            &"a".repeat(33),
        ] {
            let error = Tables::new(prefix).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration);
        }
    }

    #[test]
    fn it_stands_in_every_name() {
        let tables = Tables::new("q_").unwrap();
        assert_eq!(tables.migrations(), "q_migrations");
        let sql = tables.put_into("SELECT 1 FROM changestore_claims, changestore_documents");
        assert_eq!(sql, "SELECT 1 FROM q_claims, q_documents");
        assert_eq!(Tables::default(), Tables::new(DEFAULT_PREFIX).unwrap());
    }
}
