-- Which land request has claimed which change. schema/sqlite/README.md explains each column.
CREATE TABLE changestore_claims (
    queue      TEXT    NOT NULL CHECK (length(CAST(queue AS BLOB)) BETWEEN 1 AND 255),
    uri        TEXT    NOT NULL CHECK (length(CAST(uri AS BLOB)) BETWEEN 1 AND 768),
    request_id TEXT    NOT NULL CHECK (length(CAST(request_id AS BLOB)) BETWEEN 1 AND 255),
    version    INTEGER NOT NULL CHECK (version >= 1),
    created_at INTEGER NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999),
    updated_at INTEGER NOT NULL CHECK (updated_at BETWEEN 0 AND 253402300799999),
    metadata   TEXT    NOT NULL CHECK (length(CAST(metadata AS BLOB)) BETWEEN 1 AND 393216),
    PRIMARY KEY (queue, uri, request_id)
) STRICT, WITHOUT ROWID;

-- Records and counters under a partition key and a sort key.
CREATE TABLE changestore_documents (
    pk        TEXT    NOT NULL CHECK (length(CAST(pk AS BLOB)) BETWEEN 1 AND 1024),
    sk        TEXT    NOT NULL CHECK (length(CAST(sk AS BLOB)) BETWEEN 1 AND 1024),
    expire_at INTEGER          CHECK (expire_at BETWEEN 0 AND 253402300799999),
    counter   INTEGER,
    version   INTEGER          CHECK (version >= 1),
    etag      TEXT             CHECK (length(CAST(etag AS BLOB)) BETWEEN 1 AND 64),
    data      BLOB             CHECK (length(data) <= 393216),
    PRIMARY KEY (pk, sk),
    -- A record has data, a version and an etag; a counter has a value; nothing has both.
    CHECK (
        (counter IS NULL) = (data IS NOT NULL)
        AND (data IS NULL) = (version IS NULL)
        AND (data IS NULL) = (etag IS NULL)
    )
) STRICT, WITHOUT ROWID;
