-- The first schema. It runs on SQLite and on PostgreSQL as it is:
--   bytetext  text that is compared byte by byte. SQLite does that with any type name that has TEXT in it; on PostgreSQL it is a domain
--             with COLLATE "C" that the opener creates.
--   instants and lengths are BIGINT milliseconds, flags are SMALLINT 0 or 1, objects are JSON in TEXT.
-- +goose Up

-- Facts about the store itself: which release wrote it last, which schema versions may open it.
CREATE TABLE store_info (
    name  bytetext NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Numbers that only grow. "writer" is the row that serializes write transactions on PostgreSQL.
CREATE TABLE counters (
    name  bytetext NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('writer', 0), ('change', 0), ('change_floor', 0), ('audit', 0), ('lock', 0), ('supervisor', 0);

-- The bytes of segments. refs counts the rows of segments that name the file; at 0 it may be deleted and then forgotten.
CREATE TABLE files (
    id        bytetext NOT NULL PRIMARY KEY,
    load_spec TEXT NOT NULL,
    size      BIGINT NOT NULL,
    refs      BIGINT NOT NULL,
    created   BIGINT NOT NULL
);
CREATE INDEX files_unreferenced ON files (id) WHERE refs = 0;

-- Column lists, each shared by many segments. fingerprint is the SHA-256 of payload.
CREATE TABLE schemas (
    fingerprint bytetext NOT NULL PRIMARY KEY,
    payload     TEXT NOT NULL,
    created     BIGINT NOT NULL
);

-- span is the exponent of the smallest power of two that is at least the length of the interval: see overlap.go.
CREATE TABLE segments (
    id                 bytetext NOT NULL PRIMARY KEY,
    datasource         bytetext NOT NULL,
    start_ms           BIGINT NOT NULL,
    end_ms             BIGINT NOT NULL,
    span               SMALLINT NOT NULL,
    version            bytetext NOT NULL,
    partition_num      BIGINT NOT NULL,
    shard_spec         TEXT NOT NULL,
    schema_fingerprint bytetext REFERENCES schemas (fingerprint),
    file_id            bytetext REFERENCES files (id),
    size               BIGINT NOT NULL,
    num_rows           BIGINT NOT NULL,
    binary_version     BIGINT NOT NULL,
    details            TEXT,
    used               SMALLINT NOT NULL,
    used_updated       BIGINT NOT NULL,
    created            BIGINT NOT NULL,
    upgraded_from      bytetext,
    task_id            bytetext
);
CREATE INDEX segments_overlap ON segments (datasource, span, start_ms);
CREATE INDEX segments_used ON segments (datasource, used, id);
CREATE INDEX segments_file ON segments (file_id);
CREATE INDEX segments_schema ON segments (schema_fingerprint);
CREATE INDEX segments_upgraded ON segments (upgraded_from) WHERE upgraded_from IS NOT NULL;

-- Which values of span a datasource has had.
CREATE TABLE spans (
    datasource bytetext NOT NULL,
    span       SMALLINT NOT NULL,
    PRIMARY KEY (datasource, span)
);

-- Ids that were promised to appending tasks. sequence_key makes allocation idempotent.
CREATE TABLE pending_segments (
    id            bytetext NOT NULL PRIMARY KEY,
    datasource    bytetext NOT NULL,
    start_ms      BIGINT NOT NULL,
    end_ms        BIGINT NOT NULL,
    version       bytetext NOT NULL,
    partition_num BIGINT NOT NULL,
    shard_spec    TEXT NOT NULL,
    sequence_name bytetext NOT NULL,
    previous_id   bytetext NOT NULL,
    sequence_key  bytetext NOT NULL UNIQUE,
    allocator     bytetext NOT NULL,
    upgraded_from bytetext,
    created       BIGINT NOT NULL
);
CREATE INDEX pending_segments_datasource ON pending_segments (datasource, created);
CREATE INDEX pending_segments_allocator ON pending_segments (allocator);
CREATE INDEX pending_segments_upgraded ON pending_segments (upgraded_from);

CREATE TABLE task_locks (
    id         BIGINT NOT NULL PRIMARY KEY,
    group_id   bytetext NOT NULL,
    datasource bytetext NOT NULL,
    lock_type  bytetext NOT NULL,
    start_ms   BIGINT NOT NULL,
    end_ms     BIGINT NOT NULL,
    version    bytetext NOT NULL,
    priority   BIGINT NOT NULL,
    revoked    SMALLINT NOT NULL,
    created    BIGINT NOT NULL
);
CREATE INDEX task_locks_datasource ON task_locks (datasource);

CREATE TABLE task_lock_holders (
    task_id bytetext NOT NULL,
    lock_id BIGINT NOT NULL REFERENCES task_locks (id),
    PRIMARY KEY (task_id, lock_id)
);
CREATE INDEX task_lock_holders_lock ON task_lock_holders (lock_id);

-- Segments that were appended while a REPLACE lock was held over them: they are published again under its version when it commits. The row
-- of the segment may be gone by then, while one of its copies has the bytes.
CREATE TABLE upgrades (
    segment_id bytetext NOT NULL,
    lock_id    BIGINT NOT NULL REFERENCES task_locks (id),
    start_ms   BIGINT NOT NULL,
    end_ms     BIGINT NOT NULL,
    created    BIGINT NOT NULL,
    PRIMARY KEY (lock_id, segment_id)
);

CREATE TABLE tasks (
    id          bytetext NOT NULL PRIMARY KEY,
    group_id    bytetext NOT NULL,
    allocator   bytetext NOT NULL,
    type        bytetext NOT NULL,
    datasource  bytetext NOT NULL,
    priority    BIGINT NOT NULL,
    created     BIGINT NOT NULL,
    updated     BIGINT NOT NULL,
    active      SMALLINT NOT NULL,
    status_code bytetext NOT NULL,
    payload     TEXT NOT NULL,
    status      TEXT NOT NULL
);
CREATE INDEX tasks_active ON tasks (active, created);
CREATE INDEX tasks_datasource ON tasks (datasource, active);
CREATE INDEX tasks_allocator ON tasks (allocator);

-- Records a task leaves to be continued from: stages of a controller, checkpoints of a reader.
CREATE TABLE task_stages (
    task_id bytetext NOT NULL,
    name    bytetext NOT NULL,
    payload TEXT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (task_id, name)
);

-- Where reports and logs of a task are.
CREATE TABLE task_files (
    task_id  bytetext NOT NULL,
    kind     bytetext NOT NULL,
    location TEXT NOT NULL,
    updated  BIGINT NOT NULL,
    PRIMARY KEY (task_id, kind)
);

CREATE TABLE rules (
    datasource bytetext NOT NULL PRIMARY KEY,
    payload    TEXT NOT NULL,
    updated    BIGINT NOT NULL
);

CREATE TABLE settings (
    name    bytetext NOT NULL PRIMARY KEY,
    payload TEXT NOT NULL,
    updated BIGINT NOT NULL
);

CREATE TABLE audit (
    id       BIGINT NOT NULL PRIMARY KEY,
    type     bytetext NOT NULL,
    key      bytetext NOT NULL,
    author   TEXT NOT NULL,
    identity TEXT NOT NULL,
    comment  TEXT NOT NULL,
    ip       TEXT NOT NULL,
    request  TEXT,
    payload  TEXT NOT NULL,
    at       BIGINT NOT NULL
);
CREATE INDEX audit_key ON audit (type, key, at);
CREATE INDEX audit_at ON audit (type, at);

-- expires is read on the database's clock only.
CREATE TABLE leases (
    name    bytetext NOT NULL PRIMARY KEY,
    holder  bytetext NOT NULL,
    address TEXT NOT NULL,
    epoch   BIGINT NOT NULL,
    expires BIGINT NOT NULL
);

-- Asynchronous SQL statements and where their results are.
CREATE TABLE statements (
    id       bytetext NOT NULL PRIMARY KEY,
    state    bytetext NOT NULL,
    task_id  bytetext NOT NULL,
    identity bytetext NOT NULL,
    created  BIGINT NOT NULL,
    updated  BIGINT NOT NULL,
    payload  TEXT NOT NULL
);
CREATE INDEX statements_created ON statements (created);

-- How far streams have been published. id is the supervisor's.
CREATE TABLE offsets (
    id         bytetext NOT NULL PRIMARY KEY,
    datasource bytetext NOT NULL,
    payload    TEXT NOT NULL,
    created    BIGINT NOT NULL,
    updated    BIGINT NOT NULL
);

-- Every version of every supervisor's specification; the newest of an id is the current one.
CREATE TABLE supervisors (
    seq        BIGINT NOT NULL PRIMARY KEY,
    id         bytetext NOT NULL,
    payload    TEXT NOT NULL,
    tombstone  SMALLINT NOT NULL,
    created    BIGINT NOT NULL
);
CREATE INDEX supervisors_id ON supervisors (id, seq);

-- The published change stream. All entries of one transaction have one number.
CREATE TABLE change_heads (
    number  BIGINT NOT NULL PRIMARY KEY,
    entries BIGINT NOT NULL,
    at      BIGINT NOT NULL
);
CREATE TABLE changes (
    number        BIGINT NOT NULL,
    ordinal       BIGINT NOT NULL,
    added         SMALLINT NOT NULL,
    segment_id    bytetext NOT NULL,
    datasource    bytetext NOT NULL,
    start_ms      BIGINT NOT NULL,
    end_ms        BIGINT NOT NULL,
    version       bytetext NOT NULL,
    partition_num BIGINT NOT NULL,
    PRIMARY KEY (number, ordinal)
);
CREATE INDEX changes_segment ON changes (segment_id);
