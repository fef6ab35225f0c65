//! What REPLACE deletes because it has the row id that the statement names.

use crate::archive::Archive;
use crate::replace::{Case, are_journaled_once, sorted};

const CASES: &[Case] = &[
    // The row id, under each of its names, where it is not the key.
    (
        "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, v)",
        "INSERT INTO t(rowid, k) VALUES (1, 'a'), (2, 'b')",
        "UPDATE OR REPLACE t SET rowid = 1 WHERE k = 'b'",
        &["2 'b'", "3 'a'"],
    ),
    (
        "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, oid)",
        "INSERT INTO t(rowid, k) VALUES (-1, 'a'), (2, 'b'), (3, 'c')",
        "UPDATE OR REPLACE t SET _ROWID_ = '-1' WHERE k > 'a'",
        &["2 'b'", "2 'c'", "3 'a'", "3 'b'"],
    ),
    (
        "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, v UNIQUE)",
        "INSERT INTO t(rowid, k, v) VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
        "REPLACE INTO t(rowid, k, v) VALUES (1, 'd', 2)",
        &["1 'd'", "3 'a'", "3 'b'"],
    ),
    // The row id under another name than the index has for it.
    (
        "CREATE TABLE t(k INTEGER PRIMARY KEY, u, UNIQUE (u, k DESC))",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "UPDATE OR REPLACE t SET rowid = 1 WHERE u = 'b'",
        &["1 1", "3 2"],
    ),
];

#[tokio::test]
async fn each_row_with_that_row_id_is_journaled_once() {
    are_journaled_once(CASES).await;
}

/// Before the write, a row id that SQLite will choose looks like -1.
#[tokio::test]
async fn a_row_with_the_row_id_minus_one_is_in_nobodys_way_who_names_none() {
    let create = "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, v)";
    let archive = Archive::tracking(create, &["t"]).await;
    archive.run("INSERT INTO t(rowid, k) VALUES (-1, 'a'), (-2, 'b')");
    let seq = archive.seq();
    archive.run("REPLACE INTO t(k) VALUES ('b'), ('c')");
    assert_eq!(sorted(&archive, seq), ["1 'b'", "1 'c'"]);
    let seq = archive.seq();
    archive.run("REPLACE INTO t(rowid, k) VALUES (-1, 'd')");
    assert_eq!(sorted(&archive, seq), ["1 'd'", "3 'a'"]);
}
