// Package tasktype contains the code that the types of tasks share: Files, the reports and logs of
// tasks in deep storage; Logged, which writes the log of a task; Metadata, the metastore in the
// interface of package msq; and rules of a run (interruption, run number, waiting for segments to
// load).
//
// Each type of task is a package below: sqltask (INSERT, REPLACE and statements), batch (native
// loads and compaction), imports, kill, move. Package task queues tasks and chooses workers.
package tasktype
