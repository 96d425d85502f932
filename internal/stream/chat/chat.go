package chat

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/stream"
)

// State is the current activity of a task.
type State string

// The states of a task. A task in NotStarted or Starting has no positions yet.
const (
	NotStarted State = "NOT_STARTED"
	Starting   State = "STARTING"
	Reading    State = "READING"
	Paused     State = "PAUSED"
	Publishing State = "PUBLISHING"
)

// Task controls one task. Its methods return an error if the task is unreachable or has ended.
type Task interface {
	Status(ctx context.Context) (Status, error)
	// Pause stops reading and returns the positions; Resume continues.
	Pause(ctx context.Context) (stream.Positions, error)
	Resume(ctx context.Context) error
	// SetEnds sets the ends of the current sequence, which must be at or after the current positions.
	// With finish, the task reads up to them, publishes and ends; otherwise it opens its next sequence
	// there. The call is idempotent.
	SetEnds(ctx context.Context, ends stream.Positions, finish bool) error
	// Stop ends the task: with publish, its rows are published first; otherwise they are discarded.
	Stop(ctx context.Context, publish bool) error
	// Stats are its counters, ParseErrors the last unparseable rows, the newest first.
	Stats(ctx context.Context) (Stats, error)
	ParseErrors(ctx context.Context) ([]ParseError, error)
}

// Tasks finds tasks.
type Tasks interface {
	// Find returns the task with an id; nil: it is not running, or its location is unknown.
	Find(id string) Task
}

// Status contains everything that a supervisor requests from a task in each round, in one request.
type Status struct {
	State State `json:"state"`
	// Started is the time when reading started, in milliseconds; 0: it has not started.
	Started int64 `json:"startTime"`
	// Current are the current positions, Ends the end positions (stream.Unbounded: not set).
	Current stream.Positions `json:"currentOffsets"`
	Ends    stream.Positions `json:"endOffsets"`
	// Checkpoints are the starts of its unpublished sequences, by number.
	Checkpoints map[int]stream.Positions `json:"checkpoints"`
	// Problem is the reason why it currently makes no progress; "": it makes progress.
	Problem *Problem `json:"problem,omitempty"`
}

// Problem is an error that prevents a task from reading, for the errors that a supervisor shows.
type Problem struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	// Stream is true for an error of the connection to the stream.
	Stream bool  `json:"stream"`
	Since  int64 `json:"since"`
}

// Stats are counters of a task since its start, and their averages per second over 1, 5 and 15
// minutes.
type Stats struct {
	Totals   Counters            `json:"totals"`
	Averages map[string]Counters `json:"movingAverages"` // 1m, 5m, 15m
	// ThrownAway are the numbers of rows thrown away, by reason.
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

// ParseError is a row that could not be parsed, completely or in part.
type ParseError struct {
	At      int64    `json:"timeOfExceptionMillis"`
	Input   string   `json:"input"`
	Type    string   `json:"errorType"`
	Details []string `json:"details"`
}

// Overlord is the interface of a task to its supervisor.
type Overlord interface {
	// Checkpoint requests new ends for the current sequence of the group, which began at starts: the
	// supervisor calls SetEnds on all replicas. A request for a sequence that already has ends is
	// ignored.
	Checkpoint(ctx context.Context, supervisor string, group int, starts stream.Positions) error
}

// TaskIO is the ioConfig of a task that reads a stream.
type TaskIO struct {
	Stream stream.Config
	// Group is the number of the group of the task, Sequence the prefix of the names of its sequences.
	// Replicas have the same values.
	Group    int
	Sequence string
	// Starts are its start positions, Ends its end positions: stream.Unbounded until the supervisor
	// sets them. Exclusive are partitions whose record at the start was already read (Kinesis).
	Starts, Ends stream.Positions
	Exclusive    []stream.Partition
	// Follows are partitions whose start is the end of an earlier task that had not published them
	// when this task was created: as long as the store has no offsets of them, this task waits for the
	// earlier one.
	Follows []stream.Partition
	// Checkpoints are the starts of the sequences that a lost task of the group had, by number: the
	// task opens one sequence for each.
	Checkpoints map[int]stream.Positions
	// MinTime and MaxTime are bounds of the times of accepted rows, in milliseconds; nil: no bound.
	MinTime, MaxTime *int64
	// RefreshMinutes is the interval, from the creation of the task, after which a reading task
	// advances these bounds by the same amount; 0: never.
	RefreshMinutes int
	// ServerPriority is the priority of this task over its replicas for queries, according to the
	// settings of the Broker; nil: none.
	ServerPriority *int
	PollMillis     int64
	Format         json.RawMessage
}
