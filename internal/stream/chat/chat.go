package chat

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/stream"
)

// State is what a task does at the moment.
type State string

// The states of a task. A task in NotStarted or Starting has no positions yet.
const (
	NotStarted State = "NOT_STARTED"
	Starting   State = "STARTING"
	Reading    State = "READING"
	Paused     State = "PAUSED"
	Publishing State = "PUBLISHING"
)

// Task steers one task. A task that can't be reached, or ended, is an error.
type Task interface {
	Status(ctx context.Context) (Status, error)
	// Pause stops reading and returns where; Resume goes on.
	Pause(ctx context.Context) (stream.Positions, error)
	Resume(ctx context.Context) error
	// SetEnds ends the current sequence at positions that are at or behind what was read. With
	// finish the task reads up to them, publishes and ends; else it opens its next sequence there.
	// Doing so twice is no harm.
	SetEnds(ctx context.Context, ends stream.Positions, finish bool) error
	// Stop ends the task: with publish its rows are published first, else they are forgotten.
	Stop(ctx context.Context, publish bool) error
	// Stats are its counters, ParseErrors the last rows that were none, the newest first.
	Stats(ctx context.Context) (Stats, error)
	ParseErrors(ctx context.Context) ([]ParseError, error)
}

// Tasks finds tasks.
type Tasks interface {
	// Find returns the task of an id; nil: it does not run, or nobody knows where.
	Find(id string) Task
}

// Status is all that a supervisor asks of a task at each look: one request.
type Status struct {
	State State `json:"state"`
	// Started is when reading began, in milliseconds; 0: it has not.
	Started int64 `json:"startTime"`
	// Current is where reading goes on, Ends where it ends (stream.Unbounded: not set).
	Current stream.Positions `json:"currentOffsets"`
	Ends    stream.Positions `json:"endOffsets"`
	// Checkpoints are the starts of its sequences that are not published yet, by number.
	Checkpoints map[int]stream.Positions `json:"checkpoints"`
	// Problem is why it does not get on at the moment; "": it does.
	Problem *Problem `json:"problem,omitempty"`
}

// Problem is what keeps a task from reading, for the errors that a supervisor shows.
type Problem struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	// Stream says that it is of the connection to the stream.
	Stream bool  `json:"stream"`
	Since  int64 `json:"since"`
}

// Stats are counters of a task since its start, and their averages a second over 1, 5 and 15
// minutes.
type Stats struct {
	Totals   Counters            `json:"totals"`
	Averages map[string]Counters `json:"movingAverages"` // 1m, 5m, 15m
	// ThrownAway are the rows that were, by reason.
	ThrownAway map[string]int64 `json:"thrownAwayByReason,omitempty"`
}

// Counters count rows; averages have fractions.
type Counters struct {
	Processed          float64 `json:"processed"`
	ProcessedBytes     float64 `json:"processedBytes"`
	ProcessedWithError float64 `json:"processedWithError"`
	ThrownAway         float64 `json:"thrownAway"`
	Unparseable        float64 `json:"unparseable"`
}

// ParseError is a row that was none, or not wholly.
type ParseError struct {
	At      int64    `json:"timeOfExceptionMillis"`
	Input   string   `json:"input"`
	Type    string   `json:"errorType"`
	Details []string `json:"details"`
}

// Overlord is what a task asks of the supervisor that made it.
type Overlord interface {
	// Checkpoint asks for new ends of the group's current sequence, which began at starts: the
	// supervisor answers by SetEnds to all replicas. A request for a sequence that has ends already is
	// ignored.
	Checkpoint(ctx context.Context, supervisor string, group int, starts stream.Positions) error
}

// TaskIO is the ioConfig of a task that reads a stream.
type TaskIO struct {
	Stream stream.Config
	// Group is the number of the task's group, Sequence the base of the names of its sequences: what
	// replicas have in common.
	Group    int
	Sequence string
	// Starts are where it begins, Ends where it ends: stream.Unbounded until the supervisor says.
	// Exclusive are partitions whose record at the start was read already (Kinesis).
	Starts, Ends stream.Positions
	Exclusive    []stream.Partition
	// Follows are partitions whose start is the end of an earlier task that had published nothing of
	// them yet when this one was made: as long as nothing is stored of them, that task is waited for.
	Follows []stream.Partition
	// Checkpoints are the starts of the sequences that a lost task of the group had, by number: the
	// task opens one sequence for each.
	Checkpoints map[int]stream.Positions
	// MinTime and MaxTime bound the times of rows that are taken, in milliseconds; nil: they don't.
	MinTime, MaxTime *int64
	// RefreshMinutes is how long after its making, and how often, a task that still reads moves these
	// bounds on by as much; 0: it does not.
	RefreshMinutes int
	PollMillis     int64
	Format         json.RawMessage
}
