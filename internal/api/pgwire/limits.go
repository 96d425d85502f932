package pgwire

import "time"

const (
	// maxStartup is the length of a startup packet at most, as PostgreSQL has it.
	maxStartup = 10_000
	// maxLogin is the length of a message at most while a client logs in, as PostgreSQL has it.
	maxLogin = 65_535
	// startupTime is how long a client may take to begin.
	startupTime = 30 * time.Second
	// farewell is how long a blocked write of a cancelled query may take before the connection ends.
	farewell = 10 * time.Second
	// maxStatements and maxPortals bound what one session prepares; maxPrepared bounds the bytes of
	// its
	// statements' texts.
	maxStatements = 10_000
	maxPortals    = 256
	maxPrepared   = 64 << 20
	// flushBytes is how much of an answer is gathered before it is sent.
	flushBytes = 32 << 10
	// maxSettings bounds the settings that a session makes up.
	maxSettings = 1000
	// maxSavepoints bounds those of one transaction.
	maxSavepoints = 10_000
)
