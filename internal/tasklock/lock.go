package tasklock

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// Type says what a task may do in an interval and with whom it shares it.
type Type string

// The types of locks. EXCLUSIVE shares with nobody. SHARED lets several groups append, none of
// which overwrites. APPEND and REPLACE are for concurrent appending and replacing. KILL is taken by
// the automatic deletion of unused segments, which disturbs nobody but itself.
const (
	Exclusive Type = "EXCLUSIVE"
	Shared    Type = "SHARED"
	Append    Type = "APPEND"
	Replace   Type = "REPLACE"
	Kill      Type = "KILL"
)

// Valid reports whether there is such a type.
func (t Type) Valid() bool {
	switch t {
	case Exclusive, Shared, Append, Replace, Kill:
		return true
	}
	return false
}

// Coexist reports whether two groups may hold these locks of one datasource at the same time. It
// does not matter which came first.
func Coexist(a Type, aInterval chrono.Interval, b Type, bInterval chrono.Interval) bool {
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

// Owner is the task that asks for a lock. Tasks of one group share locks.
type Owner struct {
	TaskID, GroupID string
	Priority        int
}

// Lock is a lock on an interval of a datasource, held by tasks of one group.
type Lock struct {
	ID         int64
	Type       Type
	GroupID    string
	DataSource string
	Interval   chrono.Interval
	// Version is above every version that the datasource had in the interval when the lock was
	// granted; APPEND locks have the version of a first append instead.
	Version  string
	Priority int
	// Revoked is whether a task of higher priority took it. The holders find out at their next use.
	Revoked bool
}

// MarshalJSON returns the object of the task API.
func (l Lock) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Granularity string          `json:"granularity"`
		Type        Type            `json:"type"`
		GroupID     string          `json:"groupId"`
		DataSource  string          `json:"dataSource"`
		Interval    chrono.Interval `json:"interval"`
		Version     string          `json:"version"`
		Priority    int             `json:"priority"`
		Revoked     bool            `json:"revoked"`
	}{"timeChunk", l.Type, l.GroupID, l.DataSource, l.Interval, l.Version, l.Priority, l.Revoked})
}

// Request asks for a lock.
type Request struct {
	Owner      Owner
	DataSource string
	Interval   chrono.Interval
	Type       Type
}

// Validate refuses what is no request.
func (r *Request) Validate() error {
	switch {
	case !r.Type.Valid():
		return fault.InvalidInput("The lock type [%s] is not known", r.Type)
	case r.Interval.IsEmpty():
		return fault.InvalidInput("A lock needs an interval that is not empty, got [%s]", r.Interval)
	case r.DataSource == "" || r.Owner.TaskID == "" || r.Owner.GroupID == "":
		return fault.InvalidInput("A lock needs a datasource, a task and a group")
	}
	return nil
}
