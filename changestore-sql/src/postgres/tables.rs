//! The tables' names: in which schema, and with which prefix.

use changestore_core::{Error, ErrorKind, Result};

/// What the tables' names begin with in the migrations, and unless another prefix is asked for.
const PREFIX: &str = "changestore_";
/// PostgreSQL cuts longer names without a word.
const MOST_BYTES: usize = 63;
/// The longest of the tables' own names.
const LONGEST: &str = "migrations";

/// Names that are safe to stand in a statement.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    schema: Option<String>,
    prefix: String,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            schema: None,
            prefix: PREFIX.to_owned(),
        }
    }
}

impl Tables {
    pub(super) fn set_schema(&mut self, schema: &str) -> Result<()> {
        check("schema", schema, 0)?;
        self.schema = Some(schema.to_owned());
        Ok(())
    }

    pub(super) fn set_prefix(&mut self, prefix: &str) -> Result<()> {
        check("table prefix", prefix, LONGEST.len())?;
        prefix.clone_into(&mut self.prefix);
        Ok(())
    }

    /// The schema, quoted; none for the first one of the search path.
    pub(super) fn schema(&self) -> Option<String> {
        self.schema.as_ref().map(|schema| format!("\"{schema}\""))
    }

    /// A statement or a migration for these tables: written with `changestore_claims` and so on.
    pub(super) fn name_in(&self, sql: &str) -> String {
        let mut named = sql.to_owned();
        for table in ["claims", "documents", LONGEST] {
            named = named.replace(&format!("{PREFIX}{table}"), &self.table(table));
        }
        named
    }

    /// A table's whole name, quoted.
    pub(super) fn table(&self, table: &str) -> String {
        let name = format!("\"{}{table}\"", self.prefix);
        match self.schema() {
            Some(schema) => format!("{schema}.{name}"),
            None => name,
        }
    }
}

/// Lower case only: what is written without quotes is what is stored.
fn check(what: &str, name: &str, room: usize) -> Result<()> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    let goes_on_well = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let most = MOST_BYTES - room;
    if starts_well && goes_on_well && name.len() <= most {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Configuration).with_message(format!(
        "a {what} has 1 to {most} lower-case letters, digits and underscores, and begins with no digit; \
         {name:?} is none"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_where_the_statements_have_them() {
        let mut tables = Tables::default();
        let sql = "SELECT 1 FROM changestore_claims, changestore_documents";
        assert_eq!(
            tables.name_in(sql),
            r#"SELECT 1 FROM "changestore_claims", "changestore_documents""#
        );
        tables.set_schema("queue").unwrap();
        tables.set_prefix("v2_").unwrap();
        assert_eq!(
            tables.name_in(sql),
            r#"SELECT 1 FROM "queue"."v2_claims", "queue"."v2_documents""#
        );
    }

    #[test]
    fn what_could_be_more_than_a_name_is_refused() {
        for name in [
            "",
            "1a",
            "a-b",
            "a\"b",
            "a.b",
            "a b",
            "A",
            "ä",
            &"a".repeat(64),
        ] {
            assert!(Tables::default().set_schema(name).is_err(), "{name:?}");
            assert!(Tables::default().set_prefix(name).is_err(), "{name:?}");
        }
        assert!(Tables::default().set_schema(&"a".repeat(63)).is_ok());
        assert!(Tables::default().set_prefix(&"a".repeat(54)).is_err());
    }
}
