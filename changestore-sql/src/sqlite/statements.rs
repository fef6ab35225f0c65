//! Every statement that SQLite is sent, but for the schema's.
//!
//! Parameters are plain `?`: sqlx counts them through all statements of one script, so statements can be
//! strung together without renumbering. What is bound stands in [`super::bind`], in the same order.
//!
//! Each write carries its whole condition and returns a value only if it wrote; the statement behind it
//! looks at what stands there if nothing was written (`changes() = 0`). Columns are named: sqlx's thread
//! would stumble over a cached `*` after an ALTER TABLE.

/// Writers begin immediately: a transaction that reads first and then writes is refused with
/// `SQLITE_BUSY_SNAPSHOT`, however long it would wait.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE;\n";
pub(super) const COMMIT: &str = "COMMIT;\n";
pub(super) const ROLLBACK: &str = "ROLLBACK;";

/// One claim. The conflict's target is named, so that only "already there" is passed over.
pub(super) const CREATE: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, version, created_at, updated_at, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (queue, uri, request_id) DO NOTHING
RETURNING version;
";

pub(super) const GET_BY_URI: &str = "\
SELECT request_id, version, created_at, updated_at, metadata
FROM changestore_claims
WHERE queue = ? AND uri = ?
ORDER BY request_id";

pub(super) const UPDATE_METADATA: &str = "\
UPDATE changestore_claims
SET version = ?, updated_at = ?, metadata = ?
WHERE queue = ? AND uri = ? AND request_id = ? AND version = ?
RETURNING version;
SELECT version
FROM changestore_claims
WHERE queue = ? AND uri = ? AND request_id = ? AND changes() = 0;
";

/// A live record; not a counter.
pub(super) const GET: &str = "\
SELECT version, etag, expire_at, data
FROM changestore_documents
WHERE pk = ? AND sk = ? AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)";

/// A put that may find nothing. What is expired is replaced in any case, a live record if the
/// parameter in front of `AND counter IS NULL` says so.
pub(super) const PUT: &str = "\
INSERT INTO changestore_documents (pk, sk, expire_at, version, etag, data)
VALUES (?, ?, ?, 1, ?, ?)
ON CONFLICT (pk, sk) DO UPDATE SET
    version = CASE WHEN expire_at <= ? THEN 1 ELSE version + 1 END,
    expire_at = excluded.expire_at,
    counter = NULL,
    etag = excluded.etag,
    data = excluded.data
WHERE expire_at <= ? OR (? AND counter IS NULL AND version BETWEEN 1 AND 9223372036854775806)
RETURNING version;
SELECT version, counter
FROM changestore_documents
WHERE pk = ? AND sk = ? AND (expire_at IS NULL OR expire_at > ?) AND changes() = 0;
";

/// A put that must find a version or an etag; the other of the two is bound as NULL.
pub(super) const REPLACE: &str = "\
UPDATE changestore_documents
SET expire_at = ?, version = version + 1, etag = ?, data = ?
WHERE pk = ? AND sk = ? AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)
    AND (version = ? OR etag = ?) AND version BETWEEN 1 AND 9223372036854775806
RETURNING version;
SELECT version, counter
FROM changestore_documents
WHERE pk = ? AND sk = ? AND (expire_at IS NULL OR expire_at > ?) AND changes() = 0;
";

/// The parameter behind `AND (` deletes any version; the others are as in [`REPLACE`].
pub(super) const DELETE: &str = "\
DELETE FROM changestore_documents
WHERE pk = ? AND sk = ? AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)
    AND (? OR version = ? OR etag = ?)
RETURNING version;
SELECT version, counter
FROM changestore_documents
WHERE pk = ? AND sk = ? AND (expire_at IS NULL OR expire_at > ?) AND changes() = 0;
";

/// A sum outside of 64 bits would become a floating-point number, and is left out.
pub(super) const INCREMENT: &str = "\
INSERT INTO changestore_documents (pk, sk, expire_at, counter)
VALUES (?, ?, ?, ?)
ON CONFLICT (pk, sk) DO UPDATE SET
    counter = CASE
        WHEN expire_at <= ? THEN excluded.counter
        ELSE counter + excluded.counter
    END,
    expire_at = CASE
        WHEN expire_at <= ? THEN excluded.expire_at
        ELSE coalesce(excluded.expire_at, expire_at)
    END,
    version = NULL,
    etag = NULL,
    data = NULL
WHERE expire_at <= ?
    OR (typeof(counter) = 'integer' AND typeof(counter + excluded.counter) = 'integer')
RETURNING counter;
SELECT version, counter
FROM changestore_documents
WHERE pk = ? AND sk = ? AND (expire_at IS NULL OR expire_at > ?) AND changes() = 0;
";

/// The last key of the stretch behind a key; none if fewer rows follow.
pub(super) const STRETCH: &str = "\
SELECT pk, sk
FROM changestore_documents
WHERE (pk, sk) > (?, ?)
ORDER BY pk, sk
LIMIT 1 OFFSET ?";

/// What is long expired between two keys.
pub(super) const COLLECT: &str = "\
DELETE FROM changestore_documents
WHERE (pk, sk) > (?, ?) AND (pk, sk) <= (?, ?) AND expire_at <= ?";

/// What is long expired behind a key.
pub(super) const COLLECT_REST: &str = "\
DELETE FROM changestore_documents
WHERE (pk, sk) > (?, ?) AND expire_at <= ?";

/// One page of a query: a range of sort keys in one direction.
macro_rules! page {
    ($lower:literal, $upper:literal, $direction:literal) => {
        concat!(
            "SELECT sk, version, etag, expire_at, data\n",
            "FROM changestore_documents\n",
            "WHERE pk = ?1 AND sk ",
            $lower,
            " ?2",
            $upper,
            "\n    AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?4)\n",
            "ORDER BY sk ",
            $direction,
            // The sign is nothing to the number, but hides the parameter from SQLite's planner, which
            // would prepare the statement anew for each binding.
            "\nLIMIT +?5",
        )
    };
}

/// The page for a range: whether its lower end belongs to it, whether it has an upper end (which never
/// does), and whether it is read from there. The lower end of everything is the empty text, which is
/// no key.
pub(super) const fn page(includes_lower: bool, has_upper: bool, descending: bool) -> &'static str {
    match (includes_lower, has_upper, descending) {
        (true, true, false) => page!(">=", " AND sk < ?3", "ASC"),
        (true, true, true) => page!(">=", " AND sk < ?3", "DESC"),
        (true, false, false) => page!(">=", "", "ASC"),
        (true, false, true) => page!(">=", "", "DESC"),
        (false, true, false) => page!(">", " AND sk < ?3", "ASC"),
        (false, true, true) => page!(">", " AND sk < ?3", "DESC"),
        (false, false, false) => page!(">", "", "ASC"),
        (false, false, true) => page!(">", "", "DESC"),
    }
}

/// SQLite compares keys as the encoding lays them out; only UTF-8 has the contract's order.
pub(super) const ENCODING: &str = "PRAGMA encoding";

/// The file behind the connection; empty for a database in memory.
pub(super) const FILE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";

/// Which of the tables are there: that of the applied migrations, and those that they create.
pub(super) const TABLES: &str = "\
SELECT name FROM sqlite_schema
WHERE type = 'table'
    AND name IN ('changestore_migrations', 'changestore_claims', 'changestore_documents')";

/// The writer's connection does not wait for the lock inside SQLite: the time is taken anew, and the thread
/// is free, between two attempts.
pub(super) const DO_NOT_WAIT: &str = "PRAGMA busy_timeout = 0";
