// Package cluster knows which processes there are, who leads, and which segments each Historical
// holds.
//
// The central types: Membership, by which a process announces its roles and sees those of the
// others (View); Leadership, which makes one process at a time the leader of a name and fences what
// it writes; Inventory, which follows what Historicals announce; Log, which a Historical writes for
// that. Announcements and leases are rows of the metastore (package metastore); what a Historical
// holds comes from itself, as a stream of changes over HTTP.
//
// What holds:
//  1. A process that can't reach the metastore keeps what it last saw: queries go on. It leads no longer than its lease.
//  2. Times of leases are the database's. The clock of the process decides only when to ask again, and when to stop leading early.
//  3. An inventory is exact or known to be old: each server numbers its changes, and one that started anew is read anew.
//
// Elsewhere: what a leader does (packages duty, task), how queries are spread (dispatch), HTTP
// endpoints (api).
package cluster
