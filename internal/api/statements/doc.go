// Package statements serves asynchronous SQL: clients submit statements, poll them and fetch their
// results in pages (/service/v2/sql/statements). It also serves SQL as a task
// (/service/v2/sql/task).
//
// Both create tasks of one kind. The central type is API; the interface Tasks describes its
// requirements on the Overlord. The state of a statement is the state of its task, and its rows are
// pages that package msq stores. The code that both kinds of response share is here.
package statements
