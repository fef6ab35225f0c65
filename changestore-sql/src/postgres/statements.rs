//! Every statement that PostgreSQL is sent, but for the schema's.
//!
//! Each write is one statement that carries its whole condition. Where it has to say why it did nothing, the
//! same statement looks at what stands there: a `SELECT` beside a write sees the snapshot by which the
//! write found its row. What it finds is told from a race by the condition itself: a write that did
//! nothing although the snapshot fulfils its condition met a row that is newer than the snapshot, and is asked
//! again. So the answer is always that of one moment, and nothing is locked or written by a write that is
//! refused.

use std::sync::Arc;

use super::tables::Tables;

/// The texts, with the tables' names in them.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) create: Arc<str>,
    pub(super) create_all: Arc<str>,
    pub(super) claims: Arc<str>,
    pub(super) update_metadata: Arc<str>,
    pub(super) get: Arc<str>,
    pub(super) put: Arc<str>,
    pub(super) put_all: Arc<str>,
    pub(super) replace: Arc<str>,
    pub(super) delete: Arc<str>,
    pub(super) increment: Arc<str>,
    pub(super) collect: Arc<str>,
    pages: [Arc<str>; 8],
}

/// One claim. The conflict's target is named, so that only "already there" is passed over.
const CREATE: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, version, created_at, updated_at, metadata)
VALUES ($1, $2, $3, 1, $4, $5, $6)
ON CONFLICT (queue, uri, request_id) DO NOTHING
RETURNING version";

/// Several claims, given in the order of their keys: two such statements wait for each other's rows in one
/// order and never in a ring.
const CREATE_ALL: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, version, created_at, updated_at, metadata)
SELECT queue, uri, request_id, 1, created_at, updated_at, metadata
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
    AS new (queue, uri, request_id, created_at, updated_at, metadata)
ON CONFLICT (queue, uri, request_id) DO NOTHING
RETURNING queue, uri, request_id";

const CLAIMS: &str = "\
SELECT request_id, version, created_at, updated_at, metadata
FROM changestore_claims
WHERE queue = $1 AND uri = $2
ORDER BY request_id";

/// What follows a write of a document: one row of what it did, or one of what stands there, or none.
/// The number is a version or a counter's value; what stands there has a version and an etag, or a counter's value.
macro_rules! document {
    ($write:literal, $returning:literal, $now:literal) => {
        concat!(
            "WITH written AS (\n",
            $write,
            "\nRETURNING ",
            $returning,
            " AS number\n)\n",
            "SELECT true, number, NULL::bigint, NULL::text FROM written\n",
            "UNION ALL\n",
            "SELECT false, version, counter, etag FROM changestore_documents\n",
            "WHERE pk = $1 AND sk = $2 AND (expire_at IS NULL OR expire_at > ",
            $now,
            ") AND NOT EXISTS (SELECT FROM written)"
        )
    };
}

const UPDATE_METADATA: &str = "\
WITH written AS (
UPDATE changestore_claims
SET version = $4, updated_at = $5, metadata = $6
WHERE queue = $1 AND uri = $2 AND request_id = $3 AND version = $7
RETURNING version
)
SELECT true, version FROM written
UNION ALL
SELECT false, version FROM changestore_claims
WHERE queue = $1 AND uri = $2 AND request_id = $3 AND NOT EXISTS (SELECT FROM written)";

/// A live record; not a counter.
const GET: &str = "\
SELECT version, etag, expire_at, data
FROM changestore_documents
WHERE pk = $1 AND sk = $2 AND counter IS NULL AND (expire_at IS NULL OR expire_at > $3)";

/// A put that may find nothing. What is expired is replaced in any case, a live record if `$7` says so.
const PUT: &str = document!(
    "\
INSERT INTO changestore_documents AS old (pk, sk, expire_at, version, etag, data)
VALUES ($1, $2, $3, 1, $4, $5)
ON CONFLICT (pk, sk) DO UPDATE SET
    version = CASE WHEN old.expire_at <= $6 THEN 1 ELSE old.version + 1 END,
    expire_at = excluded.expire_at,
    counter = NULL,
    etag = excluded.etag,
    data = excluded.data
WHERE old.expire_at <= $6
    OR ($7 AND old.counter IS NULL AND old.version BETWEEN 1 AND 9223372036854775806)",
    "version",
    "$6"
);

/// Several puts without a condition, given in the order of their keys like [`CREATE_ALL`]. One that did nothing is
/// in no row.
const PUT_ALL: &str = "\
INSERT INTO changestore_documents AS old (pk, sk, expire_at, version, etag, data)
SELECT pk, sk, expire_at, 1, etag, data
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bytea[])
    AS new (pk, sk, expire_at, etag, data)
ON CONFLICT (pk, sk) DO UPDATE SET
    version = CASE WHEN old.expire_at <= $6 THEN 1 ELSE old.version + 1 END,
    expire_at = excluded.expire_at,
    counter = NULL,
    etag = excluded.etag,
    data = excluded.data
WHERE old.expire_at <= $6
    OR (old.counter IS NULL AND old.version BETWEEN 1 AND 9223372036854775806)
RETURNING pk, sk, version";

/// A put that must find a version or an etag; the other of the two is null.
const REPLACE: &str = document!(
    "\
UPDATE changestore_documents
SET expire_at = $3, version = version + 1, etag = $4, data = $5
WHERE pk = $1 AND sk = $2 AND counter IS NULL AND (expire_at IS NULL OR expire_at > $6)
    AND (version = $7 OR etag = $8) AND version BETWEEN 1 AND 9223372036854775806",
    "version",
    "$6"
);

/// `$4` deletes any version; the others are as in [`REPLACE`].
const DELETE: &str = document!(
    "\
DELETE FROM changestore_documents
WHERE pk = $1 AND sk = $2 AND counter IS NULL AND (expire_at IS NULL OR expire_at > $3)
    AND ($4 OR version = $5 OR etag = $6)",
    "version",
    "$3"
);

/// A sum outside of 64 bits would be an error of the server's; it is left out, and told from what stands
/// there.
const INCREMENT: &str = document!(
    "\
INSERT INTO changestore_documents AS old (pk, sk, expire_at, counter)
VALUES ($1, $2, $3, $4)
ON CONFLICT (pk, sk) DO UPDATE SET
    counter = CASE
        WHEN old.expire_at <= $5 THEN excluded.counter
        ELSE old.counter + excluded.counter
    END,
    expire_at = CASE
        WHEN old.expire_at <= $5 THEN excluded.expire_at
        ELSE coalesce(excluded.expire_at, old.expire_at)
    END,
    version = NULL,
    etag = NULL,
    data = NULL
WHERE old.expire_at <= $5
    OR CASE
        WHEN $4 >= 0 THEN old.counter <= 9223372036854775807 - $4
        ELSE old.counter >= -9223372036854775807 - 1 - $4
    END",
    "counter",
    "$5"
);

/// Deletes what is long expired in the next rows behind a key. One row if there are any: how many were
/// deleted, how many were looked at, and the last one's key.
const COLLECT: &str = "\
WITH stretch AS (
    SELECT pk, sk, expire_at
    FROM changestore_documents
    WHERE (pk, sk) > ($1, $2)
    ORDER BY pk, sk
    LIMIT $3
), deleted AS (
    DELETE FROM changestore_documents AS old
    USING stretch
    WHERE old.pk = stretch.pk AND old.sk = stretch.sk
        AND stretch.expire_at <= $4 AND old.expire_at <= $4
    RETURNING 1
)
SELECT (SELECT count(*) FROM deleted), (SELECT count(*) FROM stretch), pk, sk
FROM stretch
ORDER BY pk DESC, sk DESC
LIMIT 1";

impl Statements {
    pub(super) fn new(tables: &Tables) -> Self {
        let named = |sql: &str| Arc::from(tables.name_in(sql));
        Self {
            create: named(CREATE),
            create_all: named(CREATE_ALL),
            claims: named(CLAIMS),
            update_metadata: named(UPDATE_METADATA),
            get: named(GET),
            put: named(PUT),
            put_all: named(PUT_ALL),
            replace: named(REPLACE),
            delete: named(DELETE),
            increment: named(INCREMENT),
            collect: named(COLLECT),
            pages: std::array::from_fn(|index| named(&page_text(index))),
        }
    }

    /// The page for a range: whether its lower end belongs to it, whether it has an upper end (which never
    /// does), and whether it is read from there. The lower end of everything is the empty text, which
    /// is no key.
    pub(super) fn page(
        &self,
        includes_lower: bool,
        has_upper: bool,
        descending: bool,
    ) -> &Arc<str> {
        let bits = [includes_lower, has_upper, descending];
        let index = bits
            .iter()
            .fold(0, |index, bit| 2 * index + usize::from(*bit));
        &self.pages[index]
    }
}

fn page_text(index: usize) -> String {
    let lower = if index & 4 > 0 { ">=" } else { ">" };
    // An upper end that is not there is bound all the same, so that the parameters keep their numbers.
    let upper = if index & 2 > 0 {
        "sk < $3"
    } else {
        "$3::text IS NULL"
    };
    let direction = if index & 1 > 0 { "DESC" } else { "ASC" };
    format!(
        "SELECT sk, version, etag, expire_at, data
FROM changestore_documents
WHERE pk = $1 AND sk {lower} $2 AND {upper}
    AND counter IS NULL AND (expire_at IS NULL OR expire_at > $4)
ORDER BY sk {direction}
LIMIT $5"
    )
}
