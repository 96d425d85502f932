// Package overlord gives what the Overlord keeps: Store, the records of the task queue in the
// metastore. The queue itself is in package task.
package overlord
