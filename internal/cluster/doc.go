// Package cluster tracks the processes of a cluster, its leaders, and the segments of each
// Historical.
//
// The central types: Membership announces the roles of a process and returns the roles of all
// processes (View); Leadership elects one process at a time as the leader of a name and fences its
// writes; Inventory reads the announcements that each Historical writes to its Log. Announcements
// and leases are rows of the metastore (package metastore); a Historical publishes its segments
// itself, as a stream of changes over HTTP.
//
// Invariants:
//  1. A process that can't reach the metastore uses the last known state: queries continue. It
//     stops leading when its lease ends.
//  2. Leases expire by the clock of the database. The clock of the process only determines when to
//     poll, and when to give up leadership early.
//  3. An inventory is exact or known to be stale: each server numbers its changes, and after a
//     restart of the server all of its segments are read again.
//
// Elsewhere: the work of a leader (packages duty, task), the distribution of queries (dispatch),
// HTTP endpoints (api).
package cluster
