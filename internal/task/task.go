package task

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// Task is a submitted task. It is immutable.
type Task struct {
	ID, GroupID, Type, DataSource string
	// Created is in milliseconds since the epoch.
	Created int64
	// Priority determines the order of tasks: a higher priority is first, except for tasks that have
	// waited long (turn.go).
	Priority int
	// Allocator identifies the tasks that share allocated segment ids; empty: the id.
	Allocator string
	// Owner is the identity that submitted it; "" when there is no authentication.
	Owner string
	// Payload is the task in the form of the public interface, with id and type.
	Payload json.RawMessage
}

// State is the state of a task.
type State uint8

// The states of a task, in their order.
const (
	Waiting State = iota
	Pending
	Running
	Succeeded
	Failed
)

// Done reports whether s is final.
func (s State) Done() bool { return s >= Succeeded }

// StatusCode is RUNNING, SUCCESS or FAILED.
func (s State) StatusCode() string {
	switch s {
	case Succeeded:
		return "SUCCESS"
	case Failed:
		return "FAILED"
	}
	return "RUNNING"
}

// RunnerStatusCode is WAITING, PENDING, RUNNING or NONE.
func (s State) RunnerStatusCode() string {
	switch s {
	case Waiting:
		return "WAITING"
	case Pending:
		return "PENDING"
	case Running:
		return "RUNNING"
	}
	return "NONE"
}

// Location is the location of a task; the zero Location is unknown.
type Location struct {
	Host string
	// Port is the port of plain HTTP, TLSPort the port of HTTPS; 0: not open.
	Port, TLSPort int
}

// Address returns host:port, of HTTPS if its port is open.
func (l Location) Address() string {
	return net.JoinHostPort(l.Host, strconv.Itoa(cmp.Or(l.TLSPort, l.Port)))
}

// URL returns the base URL.
func (l Location) URL() string {
	if l.TLSPort > 0 {
		return "https://" + l.Address()
	}
	return "http://" + l.Address()
}

// Status is the current status of a task.
type Status struct {
	Task     *Task
	State    State
	Queued   int64 // milliseconds since the epoch
	Duration int64 // milliseconds from start to end, -1 while there is no end
	Location Location
	Error    string // of a failed task, at most maxErrorLength characters
}

const maxErrorLength = 1024

// NewID returns an id for a task without one: type, datasource, eight random letters, the interval
// if the task has one, and the time.
func NewID(kind, dataSource string, span *chrono.Interval, now int64) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = 'a' + b&15
	}
	id := kind + "_" + dataSource + "_" + string(random[:]) + "_"
	if span != nil {
		id += chrono.FormatMillis(span.Start, chrono.UTC) + "_" + chrono.FormatMillis(span.End, chrono.UTC) + "_"
	}
	return id + chrono.FormatMillis(now, chrono.UTC)
}

// CheckName validates a datasource name or task id. field is its name in the error.
func CheckName(field, name string) error {
	if field == "dataSource" {
		if refusal := timeline.DataSourceRefusal(field, name); refusal != "" {
			return fault.InvalidInput("%s", refusal)
		}
		return nil
	}
	if strings.TrimSpace(name) == "" {
		return fault.InvalidInput("Invalid value for field [%s]: must not be null", field)
	}
	if problem := timeline.NameProblem(name); problem != "" {
		return fault.InvalidInput("Invalid value for field [%s]: Value [%s] %s", field, name, problem)
	}
	return nil
}

func cutError(message string) string {
	if r := []rune(message); len(r) > maxErrorLength {
		return string(r[:maxErrorLength])
	}
	return message
}
