-- Which land request has claimed which change. schema/mysql/README.md explains each column.
CREATE TABLE IF NOT EXISTS changestore_claims (
    queue      VARBINARY(255) NOT NULL CHECK (octet_length(queue) >= 1),
    uri        VARBINARY(768) NOT NULL CHECK (octet_length(uri) >= 1),
    request_id VARBINARY(255) NOT NULL CHECK (octet_length(request_id) >= 1),
    version    BIGINT         NOT NULL CHECK (version >= 1),
    created_at BIGINT         NOT NULL CHECK (created_at BETWEEN 0 AND 253402300799999),
    updated_at BIGINT         NOT NULL CHECK (updated_at BETWEEN 0 AND 253402300799999),
    metadata   MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
        CHECK (octet_length(metadata) BETWEEN 1 AND 393216),
    PRIMARY KEY (queue, uri, request_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Records and counters under a partition key and a sort key.
CREATE TABLE IF NOT EXISTS changestore_documents (
    pk        VARBINARY(1024) NOT NULL CHECK (octet_length(pk) >= 1),
    sk        VARBINARY(1024) NOT NULL CHECK (octet_length(sk) >= 1),
    expire_at BIGINT              NULL CHECK (expire_at BETWEEN 0 AND 253402300799999),
    counter   BIGINT              NULL,
    version   BIGINT              NULL CHECK (version >= 1),
    etag      VARBINARY(64)   NOT NULL CHECK (octet_length(etag) >= 1),
    data      MEDIUMBLOB          NULL CHECK (octet_length(data) <= 393216),
    PRIMARY KEY (pk, sk),
    -- A record has data and a version; a counter has a value; nothing has both.
    CHECK ((counter IS NULL) = (data IS NOT NULL) AND (data IS NULL) = (version IS NULL))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
