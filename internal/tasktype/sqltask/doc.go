// Package sqltask gives the tasks that run SQL: INSERT, REPLACE and asynchronous SELECT.
//
// The central type is Controller, the kind of these tasks; Service submits and lists them for the
// statements endpoints. The stages of a statement are package msq's; here its requests are
// translated into those of the metastore and deep storage. HTTP is in packages api/tasks and
// api/statements.
package sqltask
