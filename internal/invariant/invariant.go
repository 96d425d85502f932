// Package invariant checks the internal invariants of Henge.
//
// A build with the tag "invariants", which CI and developers use, panics with the violated rule in
// the message. A plain build skips checks in hot loops, and converts other violations into a
// defensive fault, so that one query fails and not the process.
//
// Check is for assertions after which the code cannot return an error; Failed is for the default
// branch of a switch and other code that must return one. Invalid external input is never an
// invariant: it is a fault of package fault.
package invariant

import (
	"fmt"

	"github.com/hengedb/henge/internal/fault"
)

// Check panics in checked builds if cond is false, and does nothing in plain builds. The arguments
// are evaluated in both: guard costly ones with Enabled, which the compiler removes.
func Check(cond bool, format string, args ...any) {
	if Enabled && !cond {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}

// Failed reports a rule that is known to be broken: it panics in checked builds and returns a
// defensive fault in plain ones.
func Failed(format string, args ...any) error {
	if Enabled {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
	return fault.Defensive(format, args...)
}
