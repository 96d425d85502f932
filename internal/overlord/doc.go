// Package overlord implements the storage of the Overlord: Store, the records of the task queue in
// the metastore. The queue is in package task.
package overlord
