//! The migrations: the only statements that create or alter anything, as text.
//!
//! A store applies them when it is opened by its path or URL. They stand here for those who apply
//! them with a tool of their own, and for `changestore schema print`.

/// One step of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// 1, 2, 3 …: they are applied in this order.
    pub version: i64,
    /// What it does, in a few words.
    pub name: &'static str,
    /// The statements.
    pub sql: &'static str,
}

/// The schema on PostgreSQL, with the tables' default names.
///
/// ```
/// let first = &changestore_sql::schema::postgres()[0];
/// assert_eq!((first.version, first.name), (1, "claims and documents"));
/// assert!(first.sql.contains(r#"queue      text COLLATE "C""#));
/// ```
#[cfg(feature = "postgres")]
#[must_use]
pub fn postgres() -> &'static [Migration] {
    &[Migration {
        version: 1,
        name: "claims and documents",
        sql: include_str!("../schema/postgres/0001_claims_and_documents.sql"),
    }]
}

/// The schema on SQLite.
///
/// ```
/// let first = &changestore_sql::schema::sqlite()[0];
/// assert_eq!((first.version, first.name), (1, "claims and documents"));
/// assert!(first.sql.contains("CREATE TABLE changestore_claims"));
/// ```
#[cfg(feature = "sqlite")]
#[must_use]
pub fn sqlite() -> &'static [Migration] {
    &[Migration {
        version: 1,
        name: "claims and documents",
        sql: include_str!("../schema/sqlite/0001_claims_and_documents.sql"),
    }]
}

/// The schema on MySQL and MariaDB.
///
/// ```
/// let first = &changestore_sql::schema::mysql()[0];
/// assert_eq!((first.version, first.name), (1, "claims and documents"));
/// assert!(first.sql.contains("VARBINARY"));
/// ```
#[cfg(feature = "mysql")]
#[must_use]
pub fn mysql() -> &'static [Migration] {
    &[Migration {
        version: 1,
        name: "claims and documents",
        sql: include_str!("../schema/mysql/0001_claims_and_documents.sql"),
    }]
}
