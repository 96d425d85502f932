package streaming

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
)

// job is what a task is to do.
type job struct {
	supervisor  string
	schema      *spec.DataSchema
	granularity chrono.Granularity
	io          chat.TaskIO
	spec        *spec.StreamTuning
	tuning      tuning
	// lock is the type of the locks that the task takes.
	lock tasklock.Type
	// shown is the context as the report shows it.
	shown json.RawMessage
}

// tuning is what a tuningConfig says of the work of a task.
type tuning struct {
	maxRowsInMemory, maxBytesInMemory int64
	maxRowsPerSegment, maxTotalRows   int64
	persistPeriod, handoffPeriod      time.Duration
	// handoffTimeout is how long a task waits until its segments are loaded; 0: for ever.
	handoffTimeout     time.Duration
	resetAutomatically bool
	maxParseErrors     int64
	savedParseErrors   int
	logParseErrors     bool
	releaseLocks       bool
}

// parse reads a task.
func parse(t *task.Task) (*job, error) {
	s, err := spec.ParseStreamTask(t.Payload)
	if err != nil {
		return nil, err
	}
	j := &job{
		supervisor: s.Supervisor, schema: s.Schema, granularity: s.Schema.Granularity.Segment, io: s.IO, spec: s.Tuning,
		tuning: tuningOf(s.Tuning),
	}
	if j.io.Sequence == "" {
		return nil, fault.InvalidInput("Task [%s] has no [baseSequenceName] in its [ioConfig]", t.ID)
	}
	if len(j.io.Starts) == 0 {
		return nil, fault.InvalidInput("Task [%s] reads no partitions", t.ID)
	}
	var w struct {
		Context json.RawMessage `json:"context"`
	}
	if err := json.Unmarshal(t.Payload, &w); err != nil {
		return nil, fault.InvalidInput("Task [%s] is not readable: [%s]", t.ID, fault.JSONProblem(err)).WithCause(err)
	}
	j.shown = w.Context
	j.lock, err = lockOf(w.Context)
	return j, err
}

func tuningOf(t *spec.StreamTuning) tuning {
	return tuning{
		maxRowsInMemory: t.MaxRowsInMemory, maxBytesInMemory: t.MaxBytesInMemory, maxRowsPerSegment: t.MaxRowsPerSegment,
		maxTotalRows: t.MaxTotalRows, persistPeriod: millis(t.PersistPeriod), handoffPeriod: millis(t.HandoffPeriod),
		handoffTimeout: millis(t.HandoffTimeout), resetAutomatically: t.ResetAutomatically, maxParseErrors: t.MaxParseErrors,
		savedParseErrors: int(t.SavedParseErrors), logParseErrors: t.LogParseErrors, releaseLocks: t.ReleaseLocks,
	}
}

// millis returns a time that may be longer than a Duration can be.
func millis(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// lockOf returns the type of the locks that a context asks for. Tasks of one supervisor share a
// lock of any type.
func lockOf(text json.RawMessage) (tasklock.Type, error) {
	given := map[string]any{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &given); err != nil {
			return "", fault.InvalidInput("The context of the task is not an object").WithCause(err)
		}
	}
	c := &querycontext.Reader{Values: given}
	kind, concurrent, shared := querycontext.TaskLockType.From(c), querycontext.ConcurrentLocks.From(c), querycontext.SharedLock.From(c)
	if err := c.Err(); err != nil {
		return "", err
	}
	switch {
	case concurrent:
		return tasklock.Append, nil
	case kind == string(tasklock.Replace):
		return "", fault.InvalidInput("A task that reads a stream appends rows; [taskLockType] can't be [%s]", kind)
	case kind != "":
		return tasklock.Type(kind), nil
	case shared:
		return tasklock.Shared, nil
	}
	return tasklock.Exclusive, nil
}

// streamName names what is read in stored offsets.
func (j *job) streamName() string {
	if j.io.Stream.Pattern != "" {
		return j.io.Stream.Pattern
	}
	return j.io.Stream.Name
}

// stored returns what is stored of some partitions.
func (j *job) stored(have stream.Stored, of stream.Positions) stream.Positions {
	var partitions []stream.Partition
	for p := range maps.Keys(of) {
		partitions = append(partitions, p)
	}
	return have.Of(j.streamName(), j.io.Stream.Pattern != "", partitions)
}

// partitionKey names a partition in reports.
func (j *job) partitionKey(p stream.Partition) string {
	if j.io.Stream.Type != spec.Kafka {
		return string(p)
	}
	if topic, number := p.Split(); topic != "" {
		return fmt.Sprintf("KafkaTopicPartition{partition=%s, topic='%s', multiTopicPartition=true}", number, topic)
	}
	return fmt.Sprintf("KafkaTopicPartition{partition=%s, topic='null', multiTopicPartition=false}", p)
}

// sequenceOf returns what replicas of a task have in common; "": the task is not readable.
func sequenceOf(t *task.Task) string {
	var w struct {
		IO struct {
			Sequence string `json:"baseSequenceName"`
		} `json:"ioConfig"`
	}
	if err := json.Unmarshal(t.Payload, &w); err != nil {
		return ""
	}
	return w.IO.Sequence
}
