package spec

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/javaregex"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/stream"
)

// The types of streams.
const (
	Kafka   = "kafka"
	Kinesis = "kinesis"
	Push    = "push"
)

// StreamTypes are the types of streams that supervisors read.
var StreamTypes = []string{Kafka, Kinesis, Push}

// StreamIO is the ioConfig of a supervisor that reads a stream.
type StreamIO struct {
	Stream stream.Config
	// Format is the inputFormat; nil: there is none.
	Format json.RawMessage
	// Replicas is the number of tasks that read the same records. Tasks is the number of groups that
	// share the partitions.
	Replicas, Tasks int
	// TaskMillis is how long a task reads. StartDelay, Period and Completion are the times of the
	// supervisor, in milliseconds.
	TaskMillis, StartDelay, Period, Completion int64
	PollMillis                                 int64
	// Earliest says to begin at the first record if no offsets are stored.
	Earliest bool
	// Late and Early limit the times of rows relative to the creation time of the task, LateStart
	// limits them absolutely; nil: no limit.
	Late, Early, LateStart *int64
	Scaler                 *Scaler
	Idle                   *Idle
	// StopTasks is the number of groups that roll over at the same time; 0: all.
	StopTasks int
	// TimeLag says to measure the lag in milliseconds as well.
	TimeLag bool
	// Priorities are the numbers of replicas by their priority for queries; nil: replicas have no
	// priorities.
	Priorities map[int]int
	// Bounds are the start and the end of a bounded read; nil: the stream has no end.
	Bounds *Bounds

	wire ioShown
}

// Idle is an idleConfig.
type Idle struct {
	Enabled  bool  `json:"enabled"`
	Inactive int64 `json:"inactiveAfterMillis"`
}

// Bounds is a boundedStreamConfig.
type Bounds struct {
	Starts stream.Positions `json:"startSequenceNumbers"`
	Ends   stream.Positions `json:"endSequenceNumbers"`
}

type ioGiven struct {
	Topic         *string                    `json:"topic"`
	Pattern       *string                    `json:"topicPattern"`
	Stream        *string                    `json:"stream"`
	Format        json.RawMessage            `json:"inputFormat"`
	Replicas      *integer                   `json:"replicas"`
	Tasks         *integer                   `json:"taskCount"`
	TaskDuration  *string                    `json:"taskDuration"`
	Properties    map[string]json.RawMessage `json:"consumerProperties"`
	Scaler        json.RawMessage            `json:"autoScalerConfig"`
	Poll          *integer                   `json:"pollTimeout"`
	StartDelay    *string                    `json:"startDelay"`
	Period        *string                    `json:"period"`
	Earliest      *bool                      `json:"useEarliestOffset"`
	EarliestToo   *bool                      `json:"useEarliestSequenceNumber"`
	Completion    *string                    `json:"completionTimeout"`
	Late          *string                    `json:"lateMessageRejectionPeriod"`
	Early         *string                    `json:"earlyMessageRejectionPeriod"`
	LateStart     *string                    `json:"lateMessageRejectionStartDateTime"`
	Overrides     json.RawMessage            `json:"configOverrides"`
	Idle          json.RawMessage            `json:"idleConfig"`
	StopTasks     *integer                   `json:"stopTaskCount"`
	TimeLag       bool                       `json:"emitTimeLagMetrics"`
	LagAggregator json.RawMessage            `json:"lagAggregator"`
	Priorities    map[string]integer         `json:"serverPriorityToReplicas"`
	Bounds        *Bounds                    `json:"boundedStreamConfig"`
	Endpoint      *string                    `json:"endpoint"`
	FetchDelay    *integer                   `json:"fetchDelayMillis"`
	Role          *string                    `json:"awsAssumedRoleArn"`
	External      *string                    `json:"awsExternalId"`
	Aggregated    bool                       `json:"deaggregate"`
}

// ioShown is what is shown of an ioConfig: the members that all types have, in their order.
type ioShown struct {
	Kafka   *kafkaShown
	Kinesis *kinesisShown
	ioCommon
}

type kafkaShown struct {
	Topic      *string                    `json:"topic"`
	Pattern    *string                    `json:"topicPattern"`
	Properties map[string]json.RawMessage `json:"consumerProperties"`
	Poll       int64                      `json:"pollTimeout"`
	Earliest   bool                       `json:"useEarliestOffset"`
	Overrides  json.RawMessage            `json:"configOverrides"`
	TimeLag    bool                       `json:"emitTimeLagMetrics"`
}

type kinesisShown struct {
	Endpoint   string  `json:"endpoint"`
	FetchDelay int64   `json:"fetchDelayMillis"`
	Role       *string `json:"awsAssumedRoleArn"`
	External   *string `json:"awsExternalId"`
}

type ioCommon struct {
	Format        json.RawMessage `json:"inputFormat"`
	Replicas      int64           `json:"replicas"`
	Tasks         int64           `json:"taskCount"`
	TaskDuration  duration        `json:"taskDuration"`
	Scaler        *Scaler         `json:"autoScalerConfig"`
	StartDelay    duration        `json:"startDelay"`
	Period        duration        `json:"period"`
	Completion    duration        `json:"completionTimeout"`
	Late          *duration       `json:"lateMessageRejectionPeriod"`
	Early         *duration       `json:"earlyMessageRejectionPeriod"`
	LateStart     *string         `json:"lateMessageRejectionStartDateTime"`
	Idle          *Idle           `json:"idleConfig"`
	StopTasks     *integer        `json:"stopTaskCount"`
	LagAggregator json.RawMessage `json:"lagAggregator,omitempty"`
	Priorities    map[int]int     `json:"serverPriorityToReplicas,omitempty"`
	Bounds        *Bounds         `json:"boundedStreamConfig,omitempty"`
	Stream        string          `json:"stream"`
	EarliestToo   bool            `json:"useEarliestSequenceNumber"`
}

// ioClass names the ioConfig of a type in refusals.
func ioClass(kind string) string { return supervisorClass(kind, "SupervisorIOConfig") }

func supervisorClass(kind, part string) string {
	title := strings.ToUpper(kind[:1]) + kind[1:]
	return "org.apache.druid.indexing." + kind + ".supervisor." + title + part
}

func parseStreamIO(kind, dataSource string, text json.RawMessage) (*StreamIO, error) {
	class := ioClass(kind)
	var g ioGiven
	if err := readPart(class, text, &g); err != nil {
		return nil, err
	}
	io := &StreamIO{Stream: stream.Config{Type: kind, Properties: g.Properties, IO: text, Committed: true}}
	if err := io.parseStream(kind, dataSource, &g); err != nil {
		return nil, err
	}
	if err := io.parseFormat(&g); err != nil {
		return nil, err
	}
	if err := io.parseTimes(kind, &g); err != nil {
		return nil, err
	}
	if g.StopTasks != nil {
		if *g.StopTasks <= 0 {
			return nil, refused(class, "stopTaskCount must be greater than 0")
		}
		io.StopTasks = within(int64(*g.StopTasks))
	}
	if err := io.parseIdle(&g); err != nil {
		return nil, err
	}
	var err error
	if io.Scaler, err = parseScaler(g.Scaler); err != nil {
		return nil, err
	}
	io.Replicas, io.Tasks = within(int64(deref(g.Replicas, 1))), within(int64(deref(g.Tasks, 1)))
	if s := io.Scaler; s != nil && s.Enabled {
		switch {
		case s.Start != nil:
			io.Tasks = *s.Start
		case g.Tasks == nil:
			io.Tasks = s.Min
		}
	}
	io.Bounds, io.TimeLag = g.Bounds, g.TimeLag
	if err := io.parsePriorities(class, &g); err != nil {
		return nil, err
	}
	io.show(kind, &g)
	return io, nil
}

// parsePriorities reads how many replicas have which priority. Their number is that of the replicas
// if that is not given.
func (io *StreamIO) parsePriorities(class string, g *ioGiven) error {
	if g.Priorities == nil {
		return nil
	}
	sum := 0
	io.Priorities = make(map[int]int, len(g.Priorities))
	for _, text := range slices.Sorted(maps.Keys(g.Priorities)) {
		priority, err := strconv.Atoi(text)
		replicas := int64(g.Priorities[text])
		switch {
		case err != nil:
			return refused(class, "Found invalid priority[%s] in serverPriorityToReplicas. Priorities must be whole numbers.", text)
		case replicas < 0:
			return refused(class, "Found invalid server replica[%d] for priority[%d] in serverPriorityToReplicas. Replicas must be >= 0.",
				replicas, priority)
		}
		io.Priorities[priority] = within(replicas)
		sum += within(replicas)
	}
	if g.Replicas != nil && io.Replicas != sum {
		return refused(class, "Configured replicas[%d] does not match the sum of replicas[%d] specified in serverPriorityToReplicas. "+
			"To avoid ambiguity, consider removing [ioConfig.replicas] in favor of [ioConfig.serverPriorityToReplicas].", io.Replicas, sum)
	}
	io.Replicas = sum
	return nil
}

func deref(n *integer, usual integer) integer {
	if n == nil {
		return usual
	}
	return *n
}

// patternTime bounds a match of a topicPattern.
const patternTime = time.Second

// parseStream reads which stream it is, and how it is connected to.
func (io *StreamIO) parseStream(kind, dataSource string, g *ioGiven) error {
	class, config := ioClass(kind), &io.Stream
	switch kind {
	case Kinesis:
		if g.Stream == nil {
			return refused(class, "stream")
		}
		config.Name = *g.Stream
	case Push:
		config.Name = dataSource
	default:
		if g.Topic == nil && g.Pattern == nil && g.Stream != nil {
			g.Topic = g.Stream
		}
		switch {
		case g.Topic == nil && g.Pattern == nil:
			return refused(class, "Either topic or topicPattern must be specified")
		case g.Topic != nil && g.Pattern != nil:
			return refused(class, "Only one of topic [%s] or topicPattern [%s] must be specified", *g.Topic, *g.Pattern)
		case g.Topic != nil:
			config.Name = *g.Topic
		default:
			if _, err := javaregex.CompileLines(*g.Pattern, "topicPattern", patternTime); err != nil {
				return refused(class, "topicPattern [%s] is not a regular expression", *g.Pattern)
			}
			config.Pattern = *g.Pattern
		}
		if g.Properties == nil {
			return refused(class, "consumerProperties")
		}
		if absent(g.Properties["bootstrap.servers"]) && absent(g.Properties["service.dynamic.config.provider"]) &&
			absent(g.Properties["druid.dynamic.config.provider"]) {
			return refused(class, "consumerProperties must contain entry for [bootstrap.servers]")
		}
		var isolation string
		if json.Unmarshal(g.Properties["isolation.level"], &isolation) == nil && isolation == "read_uncommitted" {
			config.Committed = false
		}
	}
	return nil
}

// formatClass names input formats in refusals.
const formatClass = "org.apache.druid.data.input.InputFormat"

func (io *StreamIO) parseFormat(g *ioGiven) error {
	if absent(g.Format) {
		return nil
	}
	io.Format = g.Format
	return CheckStreamFormat(g.Format)
}

// CheckStreamFormat checks an inputFormat of a stream, which may be a format of records or a format
// that contains formats of parts of records.
func CheckStreamFormat(text json.RawMessage) error {
	var w struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"valueFormat"`
		Key   json.RawMessage `json:"keyFormat"`
	}
	if err := readPart(formatClass, text, &w); err != nil {
		return err
	}
	if !slices.Contains(partedFormats, w.Type) {
		known := slices.Sorted(slices.Values(append(ingest.FormatTypes(), partedFormats...)))
		if !slices.Contains(known, w.Type) {
			return fault.InvalidInput("%s (for POJO property 'inputFormat')", fault.UnknownSubtype(formatClass, w.Type, known).Message)
		}
		_, err := ingest.ParseFormat(text)
		return refusedAs(formatClass, err)
	}
	if absent(w.Value) {
		return refused(formatClass, "valueFormat must not be null")
	}
	for _, part := range []json.RawMessage{w.Value, w.Key} {
		if absent(part) {
			continue
		}
		if err := CheckStreamFormat(part); err != nil {
			return err
		}
	}
	return nil
}

// partedFormats are those that say how parts of records are read.
var partedFormats = []string{Kafka, Kinesis}

func (io *StreamIO) parseTimes(kind string, g *ioGiven) error {
	class := ioClass(kind)
	p := &periods{class: class, where: supervisorClass(kind, "SupervisorSpec") + "[\"spec\"]->" +
		supervisorClass(kind, "SupervisorIngestionSpec") + "[\"ioConfig\"]->" + class}
	c := &io.wire.ioCommon
	c.TaskDuration = p.length("taskDuration", g.TaskDuration, "PT1H")
	c.StartDelay = p.length("startDelay", g.StartDelay, "PT5S")
	c.Period = p.length("period", g.Period, "PT30S")
	c.Completion = p.length("completionTimeout", g.Completion, "PT30M")
	c.Late = p.optional("lateMessageRejectionPeriod", g.Late)
	c.Early = p.optional("earlyMessageRejectionPeriod", g.Early)
	if p.err != nil {
		return p.err
	}
	if g.LateStart != nil {
		at, ok := chrono.ParseISO(*g.LateStart)
		if !ok {
			return fault.InvalidInput("Invalid format: %q (through reference chain: %s[\"lateMessageRejectionStartDateTime\"])", *g.LateStart,
				p.where)
		}
		shown := chrono.FormatMillis(at, chrono.UTC)
		io.LateStart, c.LateStart = &at, &shown
		if g.Late != nil {
			return refused(class, "SeekableStreamSupervisorIOConfig does not support both properties lateMessageRejectionStartDateTime and "+
				"lateMessageRejectionPeriod.")
		}
	}
	io.TaskMillis, io.StartDelay, io.Period, io.Completion = int64(c.TaskDuration), int64(c.StartDelay), int64(c.Period), int64(c.Completion)
	io.Late, io.Early = (*int64)(c.Late), (*int64)(c.Early)
	io.PollMillis = int64(deref(g.Poll, 100))
	io.Earliest = g.Earliest != nil && *g.Earliest || g.EarliestToo != nil && *g.EarliestToo
	return nil
}

// inactiveMillis is how long a stream is without new records before its supervisor is idle.
const inactiveMillis = 600_000

func (io *StreamIO) parseIdle(g *ioGiven) error {
	if absent(g.Idle) {
		return nil
	}
	const class = "org.apache.druid.indexing.seekablestream.supervisor.IdleConfig"
	given := struct {
		Enabled  bool     `json:"enabled"`
		Inactive *integer `json:"inactiveAfterMillis"`
	}{}
	if err := readPart(class, g.Idle, &given); err != nil {
		return err
	}
	if given.Inactive != nil && *given.Inactive <= 0 {
		return refused(class, "inactiveAfterMillis should be a positive number")
	}
	io.Idle = &Idle{given.Enabled, int64(deref(given.Inactive, inactiveMillis))}
	return nil
}

// show sets what is shown.
func (io *StreamIO) show(kind string, g *ioGiven) {
	w := &io.wire
	c := &w.ioCommon
	c.Format, c.Replicas, c.Tasks, c.Scaler, c.Idle, c.StopTasks = io.Format, int64(io.Replicas), int64(io.Tasks), io.Scaler, io.Idle,
		g.StopTasks
	c.LagAggregator, c.Priorities, c.Bounds, c.Stream, c.EarliestToo = g.LagAggregator, io.Priorities, io.Bounds, io.Source(), io.Earliest
	if absent(c.LagAggregator) {
		c.LagAggregator = nil
	}
	switch kind {
	case Kafka:
		w.Kafka = &kafkaShown{g.Topic, g.Pattern, g.Properties, io.PollMillis, io.Earliest, g.Overrides, g.TimeLag}
	case Kinesis:
		endpoint := "kinesis.us-east-1.amazonaws.com"
		if g.Endpoint != nil {
			endpoint = *g.Endpoint
		}
		w.Kinesis = &kinesisShown{endpoint, int64(deref(g.FetchDelay, 0)), g.Role, g.External}
	}
}

// Source returns the name of what is read: a topic, a topic pattern or a stream.
func (io *StreamIO) Source() string {
	if io.Stream.Pattern != "" {
		return io.Stream.Pattern
	}
	return io.Stream.Name
}

// WithTasks returns the ioConfig with another number of task groups.
func (io *StreamIO) WithTasks(n int) *StreamIO {
	next := *io
	next.Tasks, next.wire.Tasks = n, int64(n)
	return &next
}

// MarshalJSON returns the ioConfig with defaults for all members.
func (io *StreamIO) MarshalJSON() ([]byte, error) {
	common, err := jsontext.Marshal(io.wire.ioCommon)
	if err != nil {
		return nil, err
	}
	var own json.RawMessage
	switch {
	case io.wire.Kafka != nil:
		own, err = jsontext.Marshal(io.wire.Kafka)
	case io.wire.Kinesis != nil:
		own, err = jsontext.Marshal(io.wire.Kinesis)
	default:
		return common, nil
	}
	if err != nil {
		return nil, err
	}
	return joinObjects(own, common), nil
}
