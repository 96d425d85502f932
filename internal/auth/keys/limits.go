package keys

import "time"

const (
	// idBytes are those of an id: enough that no two keys ever have the same one.
	idBytes = 8
	// secretBytes are those of a secret: too many to try.
	secretBytes = 32

	// maxKeys bounds the document that all processes load.
	maxKeys = 10_000
	// maxRoles, maxNetworks, maxName and maxDescription bound one key.
	maxRoles, maxNetworks   = 100, 100
	maxName, maxDescription = 255, 1000
	// maxOverlap is how long a secret is good at most after it was replaced.
	maxOverlap = 31 * 24 * time.Hour

	// usesPeriod is the time between two writes of when keys were last used.
	usesPeriod = time.Minute
	// lastWrite is how long a process that stops writes them.
	lastWrite = 2 * time.Second

	// swapTries and swapPause are how often, and after which longest pause, a change is tried again
	// that another process has overtaken.
	swapTries = 10
	swapPause = 200 * time.Millisecond
)
