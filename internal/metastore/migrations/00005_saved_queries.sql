-- Queries that people have saved in the web console. payload has the statement and how its answer is shown.
-- +goose Up
CREATE TABLE saved_queries (
    id      bytetext NOT NULL PRIMARY KEY,
    owner   bytetext NOT NULL,
    shared  SMALLINT NOT NULL,
    name    TEXT NOT NULL,
    payload TEXT NOT NULL,
    version BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE INDEX saved_queries_owner ON saved_queries (owner, updated);
CREATE INDEX saved_queries_shared ON saved_queries (updated) WHERE shared = 1;
