package metastore

import "time"

const (
	// maxGroup bounds the operations of one write transaction: more does not save fsyncs worth having,
	// and they all wait for the last.
	maxGroup = 256
	// maxReaders bounds the reading connections to SQLite: more than this only take memory.
	maxReaders = 8
	// maxPostgresConns bounds the connections of one process to PostgreSQL, whose default limit for
	// all is 100.
	maxPostgresConns = 10
	// maxParameters bounds the parameters of one statement. SQLite takes 32,766, PostgreSQL 65,535.
	maxParameters = 5000
	// maxChangeEntries is how many entries one read of the change stream aims at. Entries of one
	// number always come together.
	maxChangeEntries = 10_000
	// pollChanges is how often a process looks for changes that other processes wrote. SQLite has one
	// process and no need.
	pollChanges = 500 * time.Millisecond
	// pollLocks is how often a waiting lock request looks for locks that other processes released.
	pollLocks = time.Second
	// maxIdleTransaction is how long a write transaction may do nothing: it keeps all other processes
	// from writing.
	maxIdleTransaction = 10 * time.Second
	// maxIdleDump is the same for dumps and restores, which nobody waits for and which read and write
	// files in between.
	maxIdleDump = time.Hour
	// maxVersionSuffixes bounds the "S" that are tried behind the version of a first append.
	maxVersionSuffixes = 1000
)
