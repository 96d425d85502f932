package budget

import "runtime/debug"

// ApplyGoLimit makes the Go runtime keep its heap near limit bytes too, by collecting more often
// when it comes close. Reservations bound what is live; this bounds the garbage on top. It returns
// the limit that was set before.
func ApplyGoLimit(limit int64) int64 { return debug.SetMemoryLimit(limit) }
