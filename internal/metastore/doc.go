// Package metastore stores the state that must not be lost: segments, locks, tasks, rules,
// settings, offsets, leases, audit. The database is SQLite inside one process, or PostgreSQL for
// many, with one schema and one set of statements.
//
// The central type is Store. Coordinators, Overlords and publishing tasks use it; Brokers follow
// its change stream (Store.Follow). Every method that changes the store is one transaction, and
// returns nil only when the transaction is on disk. Package timeline decides visibility; package
// deepstore stores the bytes of segments. Leases and members are here (lease.go, member.go);
// packages task, supervisor and duty do the work of a leader.
//
//	store.go, options.go         opening and closing; sqlite.go, postgres.go, dialect.go: the
//	                             databases; migrate.go: the schema
//	writer.go                    the one writer, which commits operations in groups; conn.go:
//	                             statements; span.go: spans of both
//	publish.go, upgrade.go       making segments visible, also while others append
//	allocate.go, pending.go      promising segment ids
//	lock.go, version.go          locks on intervals, and their versions
//	mark.go, unused.go, files.go flags, deletion, files
//	changes.go                   the published change stream, snapshots
//	task.go, statement.go, supervisor.go, offsets.go, setting.go, audit.go   the rest of the tables
//	dump.go, restore.go          the whole store as rows, from either database and into either
//	check.go                     checks the invariants
//
// Invariants at every commit, and therefore after every crash:
//
//	I1.  A publication is there whole or not at all: segments, offsets, replaced intervals, upgrades,
//	     change stream.
//	I2.  Every change of the used segments has an entry in the change stream, written in the same
//	     transaction. All entries of a transaction have one number, and numbers are committed in
//	     their order: a reader of number n has everything up to n.
//	I3.  A segment is published only under a lock that its task holds, that was not revoked, and
//	     whose interval contains the segment's.
//	I4.  A write with a fence happens only while its epoch is the newest. Leases run on the
//	     database's clock, nothing else does.
//	I5.  Locks of different groups that overlap coexist by the table of package tasklock.
//	I6.  The version of a granted lock (APPEND excepted) is above all versions the datasource has in
//	     the interval, and above those granted before, whatever the clock says.
//	I7.  An id is promised once: equal requests get it again, others never; and never one that a
//	     segment has or had.
//	I8.  files.refs is the number of segment rows that name the file. Bytes are deleted only after it
//	     was 0, and 0 is final.
//	I9.  A row that the change stream still tells of is not deleted: deleting raises the floor of the
//	     stream first.
//	I10. A row appended under an APPEND lock is visible exactly once from its publication on,
//	     whatever REPLACE locks are held and published meanwhile; or the publication is refused
//	     (upgrade.go).
//
// Times are milliseconds since the epoch. Payloads of other packages (tasks, rules, settings) are
// opaque JSON.
package metastore
