package dispatch

import "time"

const (
	// DefaultFanIn is the maximum number of parts of a query that one server merges. The cost of
	// merging a part is proportional to its groups, so few parts are merged as fast without a tree;
	// from about ten parts on, the Broker becomes the bottleneck.
	DefaultFanIn = 16
	// maxDepth bounds the tree of a request: DefaultFanIn to its power are more servers than there
	// are.
	maxDepth = 8

	// maxHeaderBytes bounds the JSON of a request: the segments of one server, some hundred bytes
	// each.
	maxHeaderBytes = 256 << 20
	// maxPlanBytes is that of package wire.
	maxPlanBytes = 256 << 20
	// maxFaultBytes bounds a fault in a stream, maxProfileBytes what it says of the operators: some
	// KiB of each server that the sender merges.
	maxFaultBytes   = 1 << 20
	maxProfileBytes = 64 << 20

	// streamDepth is how many batches of a streamed part wait for the query; beyond them the
	// connection waits.
	streamDepth = 4
	// partAttempts is how often a part is begun on some server at most.
	partAttempts = 8
	// suspectFor is how long a server that broke a part is passed over where others can do the work.
	suspectFor = 3 * time.Second
	// leaveAlone is how long a server that is silent is waited for when no other can do its part: as
	// long as it takes one that was restarted to come back.
	leaveAlone = 6 * time.Second

	// A part is begun a second time elsewhere when half of the others were done and it takes
	// hedgeFactor times as long as the slowest of them and hedgeLeast more.
	hedgeFactor = 3
	hedgeLeast  = 250 * time.Millisecond
)
