-- Where a task runs. Each run has a number; what a process writes for a task is refused once the task has a newer one.
-- +goose Up
ALTER TABLE tasks ADD COLUMN run BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN runner TEXT NOT NULL DEFAULT 'null';
