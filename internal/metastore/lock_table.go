package metastore

import "github.com/hengedb/henge/internal/chrono"

// LockType says what a task may do in an interval and with whom it shares it.
type LockType string

// The types of locks. EXCLUSIVE shares with nobody. SHARED lets several groups append, none of
// which overwrites. APPEND and REPLACE are for concurrent appending and replacing. KILL is taken by
// the automatic deletion of unused segments, which disturbs nobody but itself.
const (
	Exclusive LockType = "EXCLUSIVE"
	Shared    LockType = "SHARED"
	Append    LockType = "APPEND"
	Replace   LockType = "REPLACE"
	Kill      LockType = "KILL"
)

func (t LockType) valid() bool {
	switch t {
	case Exclusive, Shared, Append, Replace, Kill:
		return true
	}
	return false
}

// coexist reports whether two groups may hold these locks of one datasource at the same time. It
// does not matter which came first.
func coexist(a LockType, aInterval chrono.Interval, b LockType, bInterval chrono.Interval) bool {
	if !aInterval.Overlaps(bInterval) {
		return true
	}
	switch {
	case a == Kill || b == Kill:
		return a != b
	case a == Shared && b == Shared, a == Append && b == Append:
		return true
	case a == Replace && b == Append:
		return aInterval.Contains(bInterval)
	case a == Append && b == Replace:
		return bInterval.Contains(aInterval)
	}
	return false
}
