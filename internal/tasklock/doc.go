// Package tasklock defines locks of tasks on intervals of datasources: lock types and their
// compatibility (Coexist), owners, requests, and locks.
//
// Package metastore grants locks in transactions; package msq requests locks for its jobs.
package tasklock
