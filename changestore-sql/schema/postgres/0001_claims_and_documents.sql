-- Which land request has claimed which change. schema/postgres/README.md explains each column.
CREATE TABLE changestore_claims (
    queue      text COLLATE "C" NOT NULL CHECK (octet_length(queue) BETWEEN 1 AND 255),
    uri        text COLLATE "C" NOT NULL CHECK (octet_length(uri) BETWEEN 1 AND 768),
    request_id text COLLATE "C" NOT NULL CHECK (octet_length(request_id) BETWEEN 1 AND 255),
    version    bigint           NOT NULL CHECK (version >= 1),
    created_at bigint           NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999),
    updated_at bigint           NOT NULL CHECK (updated_at BETWEEN 0 AND 253402300799999),
    metadata   text COLLATE "C" NOT NULL CHECK (octet_length(metadata) BETWEEN 1 AND 393216),
    PRIMARY KEY (queue, uri, request_id)
);

-- Records and counters under a partition key and a sort key.
CREATE TABLE changestore_documents (
    pk        text COLLATE "C" NOT NULL CHECK (octet_length(pk) BETWEEN 1 AND 1024),
    sk        text COLLATE "C" NOT NULL CHECK (octet_length(sk) BETWEEN 1 AND 1024),
    expire_at bigint                    CHECK (expire_at BETWEEN 0 AND 253402300799999),
    counter   bigint,
    version   bigint                    CHECK (version >= 1),
    etag      text COLLATE "C"          CHECK (octet_length(etag) BETWEEN 1 AND 64),
    data      bytea                     CHECK (octet_length(data) <= 393216),
    PRIMARY KEY (pk, sk),
    -- A record has data, a version and an etag; a counter has a value; nothing has both.
    CHECK (
        (counter IS NULL) = (data IS NOT NULL)
        AND (data IS NULL) = (version IS NULL)
        AND (data IS NULL) = (etag IS NULL)
    )
);
