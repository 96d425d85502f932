// Package overlord gives the Overlord role and the worker beside it: the task queue on the metastore, the tasks that run SQL, and what
// they leave behind.
//
// The central types are Controller, the kind of task that runs an INSERT, a REPLACE or an asynchronous SELECT, and Files, where reports,
// logs and result pages lie. The stages of a statement are package msq's; here its requests are translated into those of the metastore
// and deep storage. HTTP is in packages api/tasks and api/statements.
package overlord
