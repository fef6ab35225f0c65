//! Every statement that MySQL and MariaDB are sent, but for the schema's and the session's.
//!
//! Neither has a `RETURNING` for updates. What they have is a number in the reply to a write, the "last insert
//! id", which a statement can set: `LAST_INSERT_ID(n)` is `n`, and `n` is sent along. No table here
//! has a column that counts by itself, so the number is ours alone, and one round trip both writes and tells
//! what came of it:
//!
//! | number | what it says |
//! |---|---|
//! | 0 | there was no row: an INSERT has inserted it, an UPDATE has found nothing that lives |
//! | n > 0 | the row was written; `n` is its version, or of a counter the value (which has any sign) |
//! | -n < 0 | refused: a claim or record of version `n` stands there |
//! | -2⁶³ | refused: a counter stands there; of a claim: one without a possible version |
//! | 1 - 2⁶³ | refused: what stands there is neither, or has the greatest version there is |
//!
//! Three habits of the engines carry the rest. They assign from left to right, and what stands further right sees
//! what was assigned; so each write of a document first decides by assigning its own etag, which no row has had
//! before, and the other columns ask whether the etag is its own. An INSERT that meets a row and changes it counts
//! two rows, which tells the value of a counter from a refusal. `IF(f, x, x)` is `x`, and `f` was evaluated.
//!
//! `VALUES(column)` is what would have been inserted: MySQL has a newer spelling, which MariaDB lacks. Nothing
//! is quoted, so no `sql_mode` can read it otherwise.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::tables::Tables;

/// One claim, unless it is there. Nothing but the key can be in its way: what else fails is an error.
/// (`INSERT IGNORE` would cut what is too long, and call that success.)
const CREATE: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, created_at, updated_at, metadata, version)
VALUES (?, ?, ?, ?, ?, ?, 1)
ON DUPLICATE KEY UPDATE version = IF(LAST_INSERT_ID(IF(version >= 1, -version, -9223372036854775808)), version, version)";

/// Several claims. The number is a row of bits that each claim shifts to the left; one that is there already
/// sets the last bit. In front of them all stands a one.
const CREATE_ALL: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, created_at, updated_at, metadata, version)
VALUES (?, ?, ?, ?, ?, ?, IF(LAST_INSERT_ID(2), 1, 1))";
const CREATE_ANOTHER: &str = ",
    (?, ?, ?, ?, ?, ?, IF(LAST_INSERT_ID(LAST_INSERT_ID() << 1), 1, 1))";
const UNLESS_THERE: &str = "
ON DUPLICATE KEY UPDATE version = IF(LAST_INSERT_ID(LAST_INSERT_ID() | 1), version, version)";

/// The number has 64 bits, the first of which stands in front.
pub(super) const MOST_CREATES: usize = 48;

const GET_BY_URI: &str = "\
SELECT request_id, version, created_at, updated_at, metadata
FROM changestore_claims
WHERE queue = ? AND uri = ?
ORDER BY request_id";

/// The version comes last: the columns before it ask for the old one.
const UPDATE_METADATA: &str = "\
UPDATE changestore_claims SET
    updated_at = IF(version = ?, ?, updated_at),
    metadata = IF(version = ?, ?, metadata),
    version = IF(
        version = ?,
        LAST_INSERT_ID(?),
        IF(LAST_INSERT_ID(IF(version >= 1, -version, -9223372036854775808)), version, version))
WHERE queue = ? AND uri = ? AND request_id = ?";

/// A record, not a counter. It may have expired: the engines plan each execution anew, and a condition more costs more of that
/// than looking at the row that comes.
const GET: &str = "\
SELECT version, etag, expire_at, data
FROM changestore_documents
WHERE pk = ? AND sk = ? AND counter IS NULL";

/// The number of a refusal by what stands there: see the table above. Nothing is negated that has no negative.
macro_rules! refused_by {
    () => {
        "CASE
            WHEN version IS NULL AND counter IS NOT NULL THEN -9223372036854775808
            WHEN version >= 1 AND counter IS NULL THEN -version
            ELSE -9223372036854775807
        END"
    };
}

/// A put without a condition, for what is nearly always there: nothing, something expired, or a record. The engines prepare each
/// expression anew for every execution, so there are few. What is none of these gets a version that has no successor, which
/// the engines refuse as an error, before anything is assigned; [`PUT`] then says what it is.
const PUT_OVER: &str = "\
INSERT INTO changestore_documents (pk, sk, expire_at, etag, data, version)
VALUES (?, ?, ?, ?, ?, 1)
ON DUPLICATE KEY UPDATE
    version = LAST_INSERT_ID(IF(
        expire_at <= ?,
        1,
        IF(counter IS NULL AND version >= 1, version, 9223372036854775807) + 1)),
    expire_at = VALUES(expire_at),
    etag = VALUES(etag),
    counter = NULL,
    data = VALUES(data)";

/// A put that may find nothing. What is expired is replaced in any case, a live record if the
/// parameter in front of `AND counter IS NULL` says so.
const PUT: &str = concat!(
    "\
INSERT INTO changestore_documents (pk, sk, expire_at, etag, data, version)
VALUES (?, ?, ?, ?, ?, 1)
ON DUPLICATE KEY UPDATE
    etag = IF(
        expire_at <= ? OR (? AND counter IS NULL AND version BETWEEN 1 AND 9223372036854775806),
        VALUES(etag), etag),
    version = IF(
        etag = VALUES(etag),
        LAST_INSERT_ID(IF(expire_at <= ?, 1, version + 1)),
        IF(LAST_INSERT_ID(",
    refused_by!(),
    "), version, version)),
    expire_at = IF(etag = VALUES(etag), VALUES(expire_at), expire_at),
    counter = IF(etag = VALUES(etag), NULL, counter),
    data = IF(etag = VALUES(etag), VALUES(data), data)"
);

/// Several puts without a condition, of different keys. The number is a row of versions of
/// [`VERSION_BITS`], each of which the following one shifts to the left; 0 is a put that did nothing, because
/// a counter lives there or the version has no more room. In front of them all stands a one.
const PUT_ALL: &str = "\
INSERT INTO changestore_documents (pk, sk, expire_at, etag, data, version)
VALUES (?, ?, ?, ?, ?, IF(LAST_INSERT_ID(1 << 15 | 1), 1, 1))";
const PUT_ANOTHER: &str = ",
    (?, ?, ?, ?, ?, IF(LAST_INSERT_ID(LAST_INSERT_ID() << 15 | 1), 1, 1))";
const OVER_WHAT_IS_THERE: &str = "
ON DUPLICATE KEY UPDATE
    etag = IF(
        expire_at <= ? OR (counter IS NULL AND version BETWEEN 1 AND 32766), VALUES(etag), etag),
    version = IF(etag = VALUES(etag), IF(expire_at <= ?, 1, version + 1), version),
    expire_at = IF(etag = VALUES(etag), VALUES(expire_at), expire_at),
    counter = IF(etag = VALUES(etag), NULL, counter),
    data = IF(
        etag = VALUES(etag),
        IF(LAST_INSERT_ID(LAST_INSERT_ID() >> 15 << 15 | version), VALUES(data), VALUES(data)),
        IF(LAST_INSERT_ID(LAST_INSERT_ID() >> 15 << 15), data, data))";

/// As many bits of the number as each put has for its version: it ends at 32,767 there.
pub(super) const VERSION_BITS: usize = 15;
/// As many as fit into 63 bits.
pub(super) const MOST_PUTS: usize = 4;

/// A put that must find a version or an etag; the other of the two is bound as NULL.
const REPLACE: &str = concat!(
    "\
UPDATE changestore_documents SET
    etag = IF(
        counter IS NULL AND (expire_at IS NULL OR expire_at > ?)
            AND (version = ? OR etag = ?) AND version BETWEEN 1 AND 9223372036854775806,
        ?, etag),
    version = CASE
        WHEN etag = ? THEN LAST_INSERT_ID(version + 1)
        WHEN expire_at <= ? THEN version
        ELSE IF(LAST_INSERT_ID(",
    refused_by!(),
    "), version, version)
    END,
    expire_at = IF(etag = ?, ?, expire_at),
    data = IF(etag = ?, ?, data)
WHERE pk = ? AND sk = ?"
);

/// The parameter behind the last `AND (` deletes any version; of the two others one is NULL. The reply to
/// a DELETE has no number of ours.
const DELETE: &str = "\
DELETE FROM changestore_documents
WHERE pk = ? AND sk = ? AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)
    AND (? OR version = ? OR etag = ?)";

/// What lives at a key from which nothing was deleted. A counter has no version.
const STANDING: &str = "\
SELECT version, etag, counter
FROM changestore_documents
WHERE pk = ? AND sk = ? AND (expire_at IS NULL OR expire_at > ?)";

/// The two parameters behind `BETWEEN` are the values between which the sum has 64 bits: outside of them the
/// engines refuse the addition as an error that names no reason.
const INCREMENT: &str = concat!(
    "\
INSERT INTO changestore_documents (pk, sk, expire_at, etag, counter)
VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE
    etag = IF(expire_at <= ? OR counter BETWEEN ? AND ?, VALUES(etag), etag),
    counter = IF(
        etag = VALUES(etag),
        CAST(LAST_INSERT_ID(
            IF(expire_at <= ?, VALUES(counter), counter + VALUES(counter))) AS SIGNED),
        IF(LAST_INSERT_ID(",
    refused_by!(),
    "), counter, counter)),
    expire_at = CASE
        WHEN etag <> VALUES(etag) THEN expire_at
        WHEN expire_at <= ? THEN VALUES(expire_at)
        ELSE COALESCE(VALUES(expire_at), expire_at)
    END,
    version = IF(etag = VALUES(etag), NULL, version),
    data = IF(etag = VALUES(etag), NULL, data)"
);

/// The key at the end of the stretch behind a key; none if fewer rows follow. The two ranges are asked for one
/// by one, because the engines make no range of a comparison of pairs; each reads no more than the stretch.
const STRETCH: &str = "\
(SELECT pk, sk FROM changestore_documents WHERE pk = ? AND sk > ? ORDER BY sk LIMIT ?)
UNION ALL
(SELECT pk, sk FROM changestore_documents WHERE pk > ? ORDER BY pk, sk LIMIT ?)
ORDER BY pk, sk LIMIT 1 OFFSET ?";

/// What is long expired in a range of one partition …
const COLLECT_WITHIN: &str = "\
DELETE FROM changestore_documents
WHERE pk = ? AND sk > ? AND sk <= ? AND expire_at <= ?";

/// … and in all partitions between two.
const COLLECT_BETWEEN: &str = "\
DELETE FROM changestore_documents
WHERE pk > ? AND pk < ? AND expire_at <= ?";

/// One page of a query: a range of sort keys in one direction. It always has both ends: see
/// [`BELOW_ALL_KEYS`] and [`ABOVE_ALL_KEYS`].
macro_rules! page {
    ($lower:literal, $direction:literal) => {
        concat!(
            "SELECT sk, version, etag, expire_at, data\n",
            "FROM changestore_documents\n",
            "WHERE pk = ? AND sk ",
            $lower,
            " ? AND sk < ?\n",
            "    AND counter IS NULL AND (expire_at IS NULL OR expire_at > ?)\n",
            "ORDER BY sk ",
            $direction,
            " LIMIT ?",
        )
    };
}

/// The empty text is no key.
pub(super) const BELOW_ALL_KEYS: &[u8] = b"";
/// No UTF-8 begins with this byte.
pub(super) const ABOVE_ALL_KEYS: &[u8] = b"\xff";

/// The catalogue, for some tables.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) create: SqlStr,
    /// For two claims, for three, …
    create_all: Vec<SqlStr>,
    /// For two records, for three, …
    put_all: Vec<SqlStr>,
    pub(super) get_by_uri: SqlStr,
    pub(super) update_metadata: SqlStr,
    pub(super) get: SqlStr,
    pub(super) put_over: SqlStr,
    pub(super) put: SqlStr,
    pub(super) replace: SqlStr,
    pub(super) delete: SqlStr,
    pub(super) standing: SqlStr,
    pub(super) increment: SqlStr,
    pub(super) stretch: SqlStr,
    pub(super) collect_within: SqlStr,
    pub(super) collect_between: SqlStr,
    /// By whether the lower end belongs to it, and by whether it is read from the upper one.
    pages: [[SqlStr; 2]; 2],
}

impl Statements {
    pub(super) fn new(tables: &Tables) -> Self {
        // Shared, because each use is a clone.
        let sql = |text: &str| {
            let text: Arc<str> = tables.put_into(text).into();
            AssertSqlSafe(text).into_sql_str()
        };
        let create_all = |claims: usize| {
            let others = CREATE_ANOTHER.repeat(claims - 1);
            sql(&format!("{CREATE_ALL}{others}{UNLESS_THERE}"))
        };
        let put_all = |records: usize| {
            let others = PUT_ANOTHER.repeat(records - 1);
            sql(&format!("{PUT_ALL}{others}{OVER_WHAT_IS_THERE}"))
        };
        Self {
            create: sql(CREATE),
            create_all: (2..=MOST_CREATES).map(create_all).collect(),
            put_all: (2..=MOST_PUTS).map(put_all).collect(),
            get_by_uri: sql(GET_BY_URI),
            update_metadata: sql(UPDATE_METADATA),
            get: sql(GET),
            put_over: sql(PUT_OVER),
            put: sql(PUT),
            replace: sql(REPLACE),
            delete: sql(DELETE),
            standing: sql(STANDING),
            increment: sql(INCREMENT),
            stretch: sql(STRETCH),
            collect_within: sql(COLLECT_WITHIN),
            collect_between: sql(COLLECT_BETWEEN),
            pages: [
                [sql(page!(">", "ASC")), sql(page!(">", "DESC"))],
                [sql(page!(">=", "ASC")), sql(page!(">=", "DESC"))],
            ],
        }
    }

    /// For so many claims: at least two, at most [`MOST_CREATES`].
    pub(super) fn create_all(&self, claims: usize) -> Option<SqlStr> {
        self.create_all.get(claims.checked_sub(2)?).cloned()
    }

    /// For so many records: at least two, at most [`MOST_PUTS`].
    pub(super) fn put_all(&self, records: usize) -> Option<SqlStr> {
        self.put_all.get(records.checked_sub(2)?).cloned()
    }

    pub(super) fn page(&self, includes_lower: bool, descending: bool) -> SqlStr {
        self.pages[usize::from(includes_lower)][usize::from(descending)].clone()
    }
}
