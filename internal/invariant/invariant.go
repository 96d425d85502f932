// Package invariant states what must hold inside Henge, and decides what happens when it does not.
//
// A build with the tag "invariants" (what CI and developers run) panics at once, with the broken
// rule in the message. A plain build does not spend time on checks in hot loops, and turns a broken
// rule that it does notice into a defensive fault, so that one query fails and not the process.
//
// Check is for assertions whose failure has no answer of its own; Failed is for the default branch
// of a switch and other places which must return something. Wrong input from outside is never an
// invariant: that is a fault of package fault.
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
