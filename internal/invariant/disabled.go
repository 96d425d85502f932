//go:build !invariants

package invariant

// Enabled reports whether this build checks invariants.
const Enabled = false
