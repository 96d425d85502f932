// Package batch implements the tasks that are submitted as native specs: index_parallel and index,
// which load data, and compact, which rewrites the segments of a datasource.
//
// The central types are Index and Compact, kinds of tasks for the task queue. Package ingest/spec
// reads specs, package native converts them into plans, and package msq runs the plans in stages,
// writes segments and publishes them in one transaction, as for statements. This package implements
// the rest of such a task: its JSON with all defaults, the locks that it needs before it reads,
// rows of records, and its report (ingestionStatsAndErrors).
//
// Deliberately elsewhere: the queue (package task), when compaction is due (package duty), SQL
// tasks (package tasktype/sqltask).
package batch
