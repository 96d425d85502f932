-- Locks and promised ids that overlap an interval are found by the length of their own: see overlap.go.
-- +goose Up
CREATE INDEX task_locks_overlap ON task_locks (datasource, (end_ms - start_ms), start_ms);
CREATE INDEX pending_segments_overlap ON pending_segments (datasource, (end_ms - start_ms), start_ms);
