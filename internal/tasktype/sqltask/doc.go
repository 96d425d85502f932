// Package sqltask implements the tasks that run SQL: INSERT, REPLACE and asynchronous SELECT.
//
// The central type is Controller, the kind of these tasks; Service submits and lists them for the
// statements endpoints. Package msq runs the stages of a statement; this package translates its
// requests into requests to the metastore and deep storage. HTTP is in packages api/tasks and
// api/statements.
package sqltask
