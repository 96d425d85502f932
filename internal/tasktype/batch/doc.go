// Package batch gives the tasks that are submitted as native specs: index_parallel and index, which
// load data, and compact, which rewrites a datasource's segments.
//
// The central types are Index and Compact, kinds of tasks for the task queue. Specs are read by
// package ingest/spec and become plans by package native; package msq runs those in stages, writes
// segments and publishes them in one transaction, as it does for statements. What is left for here
// is the life of such a task: its JSON with all defaults, the locks that it needs before it reads,
// rows of records, and its report (ingestionStatsAndErrors, spec/ingestion.md, section 10).
//
// Deliberately elsewhere: the queue (package task), when compaction is due (package duty), SQL
// tasks (package tasktype/sqltask).
package batch
