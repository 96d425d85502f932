-- Processes in their roles, as they announce themselves. An announcement is a lease: it runs out at an instant of the database's clock.
-- +goose Up
CREATE TABLE members (
    role    bytetext NOT NULL,
    address bytetext NOT NULL,
    holder  bytetext NOT NULL,
    epoch   BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (role, address)
);
CREATE INDEX members_holder ON members (holder);
