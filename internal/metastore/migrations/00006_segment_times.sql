-- The times of a segment's rows, from the least to behind the greatest, in milliseconds. NULL: not known, as of all
-- segments that releases before this one published.
-- +goose Up
ALTER TABLE segments ADD COLUMN times_from BIGINT;
ALTER TABLE segments ADD COLUMN times_to BIGINT;
