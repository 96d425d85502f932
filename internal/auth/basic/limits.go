package basic

import "time"

const (
	// minIterations and maxIterations bound the work of one verification: fewer are no protection,
	// more keep a core busy for seconds.
	minIterations = 1000
	maxIterations = 10_000_000
	// DefaultIterations is the default number of iterations for new passwords: about 10 ms.
	DefaultIterations = 10_000

	// cachedVerifications and cachedFor bound the passwords that are known to be right.
	cachedVerifications = 1000
	cachedFor           = time.Hour

	// maxFailures in failureWindow are what a peer may fail for one user before its attempts are
	// refused unseen, after refusalDelay.
	maxFailures   = 10
	failureWindow = time.Minute
	refusalDelay  = time.Second
	// limitedPairs bounds the pairs of user and peer whose failures are counted.
	limitedPairs = 10_000

	// swapTries and swapPause are how often, and after which longest pause, a change is tried again
	// that another process has overtaken.
	swapTries = 5
	swapPause = time.Second

	// maxPattern bounds the length of one pattern of resource names.
	maxPattern = 4096
	// maxNameLength bounds the part of a user's name that is kept of failed attempts.
	maxNameLength = 255

	// cachedDecisions bounds the decisions that one state of the roles remembers, about 20 MiB, and
	// the groups whose roles it remembers.
	cachedDecisions = 1 << 16

	// MaxMapBytes is the maximum size of a serialized map that a process accepts from another process:
	// some hundred thousand users.
	MaxMapBytes = 256 << 20
)
