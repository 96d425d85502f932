// Package audit records the actions of users: queries, rejected logins, missing permissions, and
// changes.
//
// The central type is Log. Endpoints add entries to it, which costs no more than an append to a
// queue. One goroutine writes the entries in batches:
//
//	edge.Gate, query.Running, api/avatica, api/pgwire ─► Log.Add ─► queue ─► Log.Run ─► Options.Write
//
// Invariants:
//
//  1. Callers do not wait for the log unless it is required. If the queue has no room for an entry,
//     the entry is dropped and counted. If the log is required, Begin returns when the entry is
//     written, or rejects the action.
//  2. The queue limits the number and the total bytes of its entries.
//  3. Entries do not contain secrets of statements: Statement masks them.
//
// Deliberately elsewhere: the destination of entries (role), and reading them: they are rows of a
// datasource.
package audit
