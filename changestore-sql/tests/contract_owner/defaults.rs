//! REPLACE of a NULL that is not allowed: the default is written, and deletes what is in its way.

use crate::archive::Archive;
use crate::replace::sorted;

/// NULL where it is not allowed becomes the default: as SQLite reads its text, and as the column stores it.
#[tokio::test]
async fn the_default_that_replace_writes_is_what_the_column_stores() {
    for (column, key) in [
        ("a NOT NULL DEFAULT abc UNIQUE", "PRIMARY KEY(k)"),
        ("a NOT NULL DEFAULT \"k\" UNIQUE", "PRIMARY KEY(k)"),
        (
            "a INT NOT NULL DEFAULT 7 -- seven\n UNIQUE",
            "PRIMARY KEY(k)",
        ),
        ("a INT NOT NULL DEFAULT '5' UNIQUE", "PRIMARY KEY(k)"),
        (
            "a DECIMAL(10,2) NOT NULL DEFAULT '0.00' UNIQUE",
            "PRIMARY KEY(k)",
        ),
        ("a REAL NOT NULL DEFAULT 0.1 UNIQUE", "PRIMARY KEY(k)"),
        ("a TEXT NOT NULL DEFAULT 1e2 UNIQUE", "PRIMARY KEY(k)"),
        (
            "a NUMERIC NOT NULL DEFAULT '1e2'",
            "PRIMARY KEY(k), UNIQUE(a)",
        ),
        ("a NOT NULL DEFAULT x'00FF' UNIQUE", "PRIMARY KEY(k)"),
        ("a NOT NULL DEFAULT TRUE UNIQUE", "PRIMARY KEY(k)"),
        ("a NOT NULL DEFAULT -3 UNIQUE", "PRIMARY KEY(k)"),
    ] {
        let schema = format!("CREATE TABLE t(k TEXT NOT NULL, {column}, {key}) WITHOUT ROWID");
        let archive = Archive::tracking(&schema, &["t"]).await;
        let warnings = archive.owner.status().await.unwrap().warnings;
        assert_eq!(warnings, [""; 0], "{column}");
        archive.run("INSERT INTO t(k) VALUES ('x')");
        let seq = archive.seq();
        archive.run("REPLACE INTO t(k, a) VALUES ('y', NULL)");
        assert_eq!(sorted(&archive, seq), ["1 'y'", "3 'x'"], "{column}");
    }
}

#[tokio::test]
async fn a_default_that_cannot_be_told_before_is_warned_of() {
    for columns in [
        "a NOT NULL DEFAULT (random() % 2) UNIQUE",
        "a NOT NULL DEFAULT CURRENT_TIMESTAMP UNIQUE",
        "a NOT NULL DEFAULT 5, g AS (a * 2) UNIQUE",
        "a REAL NOT NULL DEFAULT '0.1' UNIQUE",
    ] {
        let schema = format!("CREATE TABLE t(k TEXT PRIMARY KEY, {columns}) WITHOUT ROWID");
        let archive = Archive::tracking(&schema, &["t"]).await;
        let warnings = archive.owner.status().await.unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{columns}: {warnings:?}");
        // Every write does what it would without the contract.
        archive.run("INSERT INTO t(k) VALUES ('x'); REPLACE INTO t(k, a) VALUES ('y', NULL)");
    }
}
