// Package tasktype gives what the types of tasks share: Files, the reports and logs that tasks
// leave in deep storage, Logged, which writes a task's log, Metadata, the metastore in the words of
// package msq, and the small rules of a run (is it interrupted, which run is it, when are its
// segments loaded).
//
// Each type of task is a package below: sqltask (INSERT, REPLACE and statements), batch (native
// loads and compaction), imports, kill, move. Queueing and the choice of workers are in package
// task.
package tasktype
