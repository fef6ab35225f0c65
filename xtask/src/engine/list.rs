//! The engines: the one place where one is added.

use super::Engine;

pub(crate) const POSTGRES: Engine = Engine {
    name: "PostgreSQL",
    variant: None,
    variable: "CHANGESTORE_POSTGRES_URL",
    given: "CHANGESTORE_POSTGRES_URL",
    image: Some("postgres"),
    image_named_by: None,
    check: engines::postgres::check,
    start: engines::postgres::start,
};

/// In Docker it is MySQL, so that both get their turn.
pub(crate) const MARIADB: Engine = Engine {
    name: "MariaDB",
    variant: None,
    variable: "CHANGESTORE_MYSQL_URL",
    given: "CHANGESTORE_MYSQL_URL",
    image: Some("mysql"),
    image_named_by: None,
    check: engines::mariadb::check,
    start: engines::mariadb::start,
};

pub(crate) const MARIADB_HOSTILE: Engine = Engine {
    variant: Some("hostile sql_mode"),
    given: "CHANGESTORE_MYSQL_HOSTILE_URL",
    image: Some("mariadb-hostile"),
    start: || engines::mariadb::start_with(engines::mariadb::HOSTILE),
    ..MARIADB
};

pub(crate) const BIGTABLE: Engine = Engine {
    name: "Bigtable emulator",
    variant: None,
    variable: "CHANGESTORE_BIGTABLE_URL",
    given: "CHANGESTORE_BIGTABLE_URL",
    image: Some("bigtable"),
    image_named_by: None,
    check: engines::bigtable::check,
    start: engines::bigtable::start,
};

pub(crate) const DYNOXIDE: Engine = Engine {
    name: "dynoxide",
    variant: None,
    variable: "CHANGESTORE_DYNAMO_URL",
    given: "CHANGESTORE_DYNAMO_URL",
    // The vendor's is not free software.
    image: Some("dynamodb"),
    image_named_by: Some("CHANGESTORE_DYNAMO_IMAGE"),
    check: engines::dynoxide::check,
    start: engines::dynoxide::start,
};

/// Another server of the same API, which returns less where a condition failed.
pub(crate) const DYNALITE: Engine = Engine {
    name: "dynalite",
    variant: Some("dynalite"),
    given: "CHANGESTORE_DYNALITE_URL",
    image: None,
    check: engines::dynalite::check,
    start: engines::dynalite::start,
    ..DYNOXIDE
};
