package spec

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// taskPrefix begins the types of tasks that read streams: index_kafka.
const taskPrefix = "index_"

// StreamTaskType returns the type of the tasks that read streams of a type.
func StreamTaskType(kind string) string { return taskPrefix + kind }

// StreamTask is a task that reads a stream (docs/streaming.md).
type StreamTask struct {
	ID string
	// Supervisor is the id of the supervisor that created the task.
	Supervisor string
	Schema     *DataSchema
	Tuning     *StreamTuning
	IO         chat.TaskIO
	// Context is the task context of the supervisor's specification. Checkpoints are in IO.
	Context map[string]json.RawMessage

	schema json.RawMessage
}

// NewStreamTask returns a task of a specification, with the context of the specification.
func NewStreamTask(s *Stream, id string, io chat.TaskIO) (*StreamTask, error) {
	t := &StreamTask{ID: id, Supervisor: s.ID(), Schema: s.Schema, Tuning: s.Tuning, IO: io, Context: map[string]json.RawMessage{},
		schema: s.schema}
	if s.Context != nil {
		if err := json.Unmarshal(s.Context, &t.Context); err != nil {
			return nil, fault.InvalidInput("The context of supervisor [%s] is not an object", s.ID()).WithCause(err)
		}
	}
	return t, nil
}

// Type returns the type of the task.
func (t *StreamTask) Type() string { return StreamTaskType(t.IO.Stream.Type) }

// Group returns the id of the group of all tasks of the supervisor.
func (t *StreamTask) Group() string { return t.Type() + "_" + t.Supervisor }

type taskWire struct {
	Type       string                     `json:"type"`
	ID         string                     `json:"id"`
	Group      string                     `json:"groupId"`
	Supervisor string                     `json:"supervisorId"`
	DataSource string                     `json:"dataSource"`
	Resource   taskResource               `json:"resource"`
	Schema     json.RawMessage            `json:"dataSchema"`
	Tuning     json.RawMessage            `json:"tuningConfig"`
	IO         taskIOWire                 `json:"ioConfig"`
	Priority   *int                       `json:"serverPriority,omitempty"`
	Context    map[string]json.RawMessage `json:"context"`
}

type taskResource struct {
	Group    string `json:"availabilityGroup"`
	Capacity int    `json:"requiredCapacity"`
}

type taskIOWire struct {
	Type            string                     `json:"type"`
	Group           int                        `json:"taskGroupId"`
	Sequence        string                     `json:"baseSequenceName"`
	OldStarts       *stream.Sequences          `json:"startPartitions,omitempty"`
	OldEnds         *stream.Sequences          `json:"endPartitions,omitempty"`
	Starts          *stream.Sequences          `json:"startSequenceNumbers"`
	Ends            *stream.Sequences          `json:"endSequenceNumbers"`
	Properties      map[string]json.RawMessage `json:"consumerProperties,omitempty"`
	Poll            int64                      `json:"pollTimeout,omitempty"`
	Endpoint        json.RawMessage            `json:"endpoint,omitempty"`
	FetchDelay      json.RawMessage            `json:"fetchDelayMillis,omitempty"`
	Role            json.RawMessage            `json:"awsAssumedRoleArn,omitempty"`
	External        json.RawMessage            `json:"awsExternalId,omitempty"`
	Transaction     bool                       `json:"useTransaction"`
	Min             *string                    `json:"minimumMessageTime,omitempty"`
	Max             *string                    `json:"maximumMessageTime,omitempty"`
	Format          json.RawMessage            `json:"inputFormat"`
	Overrides       json.RawMessage            `json:"configOverrides"`
	MultiTopic      bool                       `json:"multiTopic"`
	RefreshRejected int                        `json:"refreshRejectionPeriodsInMinutes"`
	Follows         []stream.Partition         `json:"follows,omitempty"`
}

// The members of a task's context that belong to the task itself.
const (
	checkpointsKey = "checkpoints"
	lineageKey     = "useLineageBasedSegmentAllocation"
	handoffKey     = "IS_INCREMENTAL_HANDOFF_SUPPORTED"
	chunkLockKey   = "forceTimeChunkLock"
)

// MarshalJSON returns the payload.
func (t *StreamTask) MarshalJSON() ([]byte, error) {
	tuning, err := jsontext.Marshal(t.Tuning.ofTask())
	if err != nil {
		return nil, err
	}
	w := taskWire{
		Type: t.Type(), ID: t.ID, Group: t.Group(), Supervisor: t.Supervisor, DataSource: t.Schema.DataSource,
		Resource: taskResource{t.IO.Sequence, 1}, Schema: t.schema, Tuning: tuning, IO: t.wireIO(), Priority: t.IO.ServerPriority,
		Context: map[string]json.RawMessage{},
	}
	for _, name := range []string{lineageKey, handoffKey, chunkLockKey} {
		w.Context[name] = json.RawMessage("true")
	}
	maps.Copy(w.Context, t.Context)
	checkpoints := map[string]stream.Positions{}
	for n, at := range t.IO.Checkpoints {
		checkpoints[strconv.Itoa(n)] = at
	}
	text, err := json.Marshal(checkpoints)
	if err != nil {
		return nil, err
	}
	if w.Context[checkpointsKey], err = json.Marshal(string(text)); err != nil {
		return nil, err
	}
	return jsontext.Marshal(w)
}

func (t *StreamTask) wireIO() taskIOWire {
	io := &t.IO
	name := io.Stream.Name
	if io.Stream.Pattern != "" {
		name = io.Stream.Pattern
	}
	texts := io.Stream.Type == Kinesis
	starts := &stream.Sequences{Kind: stream.Start, Stream: name, Positions: io.Starts, Exclusive: io.Exclusive, Texts: texts}
	ends := &stream.Sequences{Kind: stream.End, Stream: name, Positions: io.Ends, Texts: texts}
	w := taskIOWire{
		Type: io.Stream.Type, Group: io.Group, Sequence: io.Sequence, Starts: starts, Ends: ends, Properties: io.Stream.Properties,
		Poll: io.PollMillis, Transaction: true, Min: instant(io.MinTime), Max: instant(io.MaxTime), Format: io.Format,
		MultiTopic: io.Stream.Pattern != "", RefreshRejected: io.RefreshMinutes, Follows: io.Follows,
	}
	if io.Stream.Type == Kafka {
		old := *starts
		old.Kind = stream.End
		w.OldStarts, w.OldEnds = &old, ends
	}
	var own struct {
		Endpoint   json.RawMessage `json:"endpoint"`
		FetchDelay json.RawMessage `json:"fetchDelayMillis"`
		Role       json.RawMessage `json:"awsAssumedRoleArn"`
		External   json.RawMessage `json:"awsExternalId"`
	}
	if json.Unmarshal(io.Stream.IO, &own) == nil && io.Stream.Type == Kinesis {
		w.Endpoint, w.FetchDelay, w.Role, w.External = own.Endpoint, own.FetchDelay, own.Role, own.External
	}
	return w
}

func instant(at *int64) *string {
	if at == nil {
		return nil
	}
	text := chrono.FormatMillis(*at, chrono.UTC)
	return &text
}

// ParseStreamTask parses the payload of a task that reads a stream.
func ParseStreamTask(text json.RawMessage) (*StreamTask, error) {
	var w struct {
		taskWire
		IO json.RawMessage `json:"ioConfig"`
	}
	if err := decode("task", text, &w); err != nil {
		return nil, err
	}
	kind, ok := strings.CutPrefix(w.Type, taskPrefix)
	if !ok || taskTuningTypes[kind] == "" {
		return nil, fault.InvalidInput("Task type [%s] does not read a stream", w.Type)
	}
	t := &StreamTask{ID: w.ID, Supervisor: w.Supervisor, Context: w.Context}
	if t.Context == nil {
		t.Context = map[string]json.RawMessage{}
	}
	if t.Supervisor == "" {
		t.Supervisor = strings.TrimPrefix(w.Group, w.Type+"_")
	}
	var err error
	if t.Schema, t.schema, err = parseStreamSchema(w.Schema); err != nil {
		return nil, err
	}
	if t.Supervisor == "" {
		t.Supervisor = t.Schema.DataSource
	}
	if t.Tuning, err = parseStreamTuning(kind, w.Tuning); err != nil {
		return nil, err
	}
	if err := t.parseIO(kind, w.IO); err != nil {
		return nil, err
	}
	t.IO.ServerPriority = w.Priority
	return t, nil
}

func (t *StreamTask) parseIO(kind string, text json.RawMessage) error {
	var w taskIOWire
	if absent(text) {
		return fault.InvalidInput("Task [%s] has no [ioConfig]", t.ID)
	}
	if err := decode("ioConfig", text, &w); err != nil {
		return err
	}
	if w.Starts == nil {
		w.Starts = w.OldStarts
	}
	if w.Ends == nil {
		w.Ends = w.OldEnds
	}
	if w.Starts == nil || w.Ends == nil {
		return fault.InvalidInput("Task [%s] has no [startSequenceNumbers] or [endSequenceNumbers] in its [ioConfig]", t.ID)
	}
	config := stream.Config{Type: kind, Name: w.Starts.Stream, Properties: w.Properties, IO: text, Committed: true}
	if w.MultiTopic {
		config.Name, config.Pattern = "", w.Starts.Stream
	}
	var isolation string
	if json.Unmarshal(w.Properties["isolation.level"], &isolation) == nil && isolation == "read_uncommitted" {
		config.Committed = false
	}
	t.IO = chat.TaskIO{
		Stream: config, Group: w.Group, Sequence: w.Sequence, Starts: w.Starts.Positions, Ends: w.Ends.Positions, Exclusive: w.Starts.Exclusive,
		PollMillis: w.Poll, Format: w.Format, RefreshMinutes: max(0, w.RefreshRejected), Follows: w.Follows,
	}
	if absent(t.IO.Format) {
		t.IO.Format = nil
	}
	for _, bound := range []struct {
		name string
		text *string
		into **int64
	}{{"minimumMessageTime", w.Min, &t.IO.MinTime}, {"maximumMessageTime", w.Max, &t.IO.MaxTime}} {
		if bound.text == nil {
			continue
		}
		at, ok := chrono.ParseISO(*bound.text)
		if !ok {
			return fault.InvalidInput("[%s] of task [%s] is not a time: [%s]", bound.name, t.ID, *bound.text)
		}
		*bound.into = &at
	}
	return t.parseCheckpoints()
}

// parseCheckpoints reads the starts of the sequences from the context, where they are JSON in a
// text.
func (t *StreamTask) parseCheckpoints() error {
	text, ok := t.Context[checkpointsKey]
	t.IO.Checkpoints = map[int]stream.Positions{}
	if ok {
		var shown string
		var byNumber map[int]stream.Positions
		if json.Unmarshal(text, &shown) != nil || json.Unmarshal([]byte(shown), &byNumber) != nil {
			return fault.InvalidInput("[%s] in the context of task [%s] are not readable: [%s]", checkpointsKey, t.ID, text)
		}
		t.IO.Checkpoints = byNumber
	}
	if len(t.IO.Checkpoints) == 0 {
		t.IO.Checkpoints = map[int]stream.Positions{0: t.IO.Starts}
	}
	for _, own := range []string{checkpointsKey, lineageKey, handoffKey, chunkLockKey} {
		delete(t.Context, own)
	}
	return nil
}
