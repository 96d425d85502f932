package spec

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// StreamTuning is the tuningConfig of a supervisor that reads a stream, and of its tasks, which
// ignore some members. Times are in milliseconds.
type StreamTuning struct {
	// MaxRowsInMemory and MaxBytesInMemory limit what a task buffers before it persists; 0 bytes: its
	// share of memory.
	MaxRowsInMemory, MaxBytesInMemory int64
	// PersistPeriod is the maximum time between two persists.
	PersistPeriod int64
	// MaxRowsPerSegment rows in a segment, MaxTotalRows rows in all open segments, and HandoffPeriod
	// since the last checkpoint each trigger a checkpoint.
	MaxRowsPerSegment, MaxTotalRows int64
	HandoffPeriod                   int64
	// HandoffTimeout is how long a task serves its published segments while it waits for a Historical
	// to serve them; 0: no limit.
	HandoffTimeout int64
	// ResetAutomatically continues at the beginning or the end of the stream if a position no longer
	// exists.
	ResetAutomatically bool
	// SkipAvailability does not check whether stored offsets still exist.
	SkipAvailability bool
	// MaxParseErrors is the maximum number of records that can't be parsed. SavedParseErrors is the
	// number of such records that are kept for display.
	MaxParseErrors, SavedParseErrors int64
	LogParseErrors                   bool
	// ReleaseLocks releases the lock of a time chunk as soon as Historicals serve everything that was
	// read of it.
	ReleaseLocks bool

	// ChatRetries and HTTPTimeout limit the supervisor's requests to a task. ShutdownTimeout is how
	// long it waits for tasks when it stops.
	ChatRetries                  int
	HTTPTimeout, ShutdownTimeout int64
	// OffsetFetchPeriod is the interval at which the lag is measured.
	OffsetFetchPeriod int64
	// RepartitionTransition is how long tasks continue to read after partitions were added.
	RepartitionTransition int64

	kind      string
	indexSpec json.RawMessage
	shown     tuningShown
}

type tuningGiven struct {
	Appendable        json.RawMessage `json:"appendableIndexSpec"`
	MaxRowsInMemory   *integer        `json:"maxRowsInMemory"`
	MaxBytesInMemory  *integer        `json:"maxBytesInMemory"`
	SkipOverhead      bool            `json:"skipBytesInMemoryOverheadCheck"`
	MaxRowsPerSegment *integer        `json:"maxRowsPerSegment"`
	MaxTotalRows      *integer        `json:"maxTotalRows"`
	PersistPeriod     *string         `json:"intermediatePersistPeriod"`
	PendingPersists   *integer        `json:"maxPendingPersists"`
	IndexSpec         json.RawMessage `json:"indexSpec"`
	Intermediate      json.RawMessage `json:"indexSpecForIntermediatePersists"`
	ReportParseErrors bool            `json:"reportParseExceptions"`
	HandoffTimeout    *integer        `json:"handoffConditionTimeout"`
	ResetAuto         bool            `json:"resetOffsetAutomatically"`
	Medium            json.RawMessage `json:"segmentWriteOutMediumFactory"`
	WorkerThreads     *integer        `json:"workerThreads"`
	ChatRetries       *integer        `json:"chatRetries"`
	HTTPTimeout       *string         `json:"httpTimeout"`
	ShutdownTimeout   *string         `json:"shutdownTimeout"`
	OffsetFetch       *string         `json:"offsetFetchPeriod"`
	HandoffPeriod     *string         `json:"intermediateHandoffPeriod"`
	LogParseErrors    bool            `json:"logParseExceptions"`
	MaxParseErrors    *integer        `json:"maxParseExceptions"`
	SavedParseErrors  *integer        `json:"maxSavedParseExceptions"`
	PersistThreads    *integer        `json:"numPersistThreads"`
	MaxColumns        *integer        `json:"maxColumnsToMerge"`
	SkipAvailability  bool            `json:"skipSequenceNumberAvailabilityCheck"`
	Repartition       *string         `json:"repartitionTransitionDuration"`
	ReleaseLocks      bool            `json:"releaseLocksOnHandoff"`
	Partitions        json.RawMessage `json:"streamingPartitionsSpec"`

	BufferBytes  *integer `json:"recordBufferSizeBytes"`
	OfferTimeout *integer `json:"recordBufferOfferTimeout"`
	FullWait     *integer `json:"recordBufferFullWait"`
	FetchThreads *integer `json:"fetchThreads"`
	BytesPerPoll *integer `json:"maxBytesPerPoll"`
	ListShards   bool     `json:"useListShards"`
}

type tuningShown struct {
	Type              string          `json:"type"`
	Appendable        json.RawMessage `json:"appendableIndexSpec"`
	MaxRowsInMemory   int64           `json:"maxRowsInMemory"`
	MaxBytesInMemory  int64           `json:"maxBytesInMemory"`
	SkipOverhead      bool            `json:"skipBytesInMemoryOverheadCheck"`
	MaxRowsPerSegment int64           `json:"maxRowsPerSegment"`
	MaxTotalRows      *integer        `json:"maxTotalRows"`
	PersistPeriod     chrono.Period   `json:"intermediatePersistPeriod"`
	PendingPersists   int64           `json:"maxPendingPersists"`
	IndexSpec         json.RawMessage `json:"indexSpec"`
	Intermediate      json.RawMessage `json:"indexSpecForIntermediatePersists"`
	ReportParseErrors bool            `json:"reportParseExceptions"`
	HandoffTimeout    int64           `json:"handoffConditionTimeout"`
	ResetAuto         bool            `json:"resetOffsetAutomatically"`
	Medium            json.RawMessage `json:"segmentWriteOutMediumFactory"`
	*tuningSupervised
	HandoffPeriod    chrono.Period   `json:"intermediateHandoffPeriod"`
	LogParseErrors   bool            `json:"logParseExceptions"`
	MaxParseErrors   int64           `json:"maxParseExceptions"`
	SavedParseErrors int64           `json:"maxSavedParseExceptions"`
	PersistThreads   int64           `json:"numPersistThreads"`
	MaxColumns       int64           `json:"maxColumnsToMerge"`
	SkipAvailability bool            `json:"skipSequenceNumberAvailabilityCheck"`
	Repartition      *duration       `json:"repartitionTransitionDuration,omitempty"`
	ReleaseLocks     bool            `json:"releaseLocksOnHandoff,omitempty"`
	Partitions       json.RawMessage `json:"streamingPartitionsSpec,omitempty"`
	*tuningKinesis
}

// tuningSupervised are members that only supervisors have.
type tuningSupervised struct {
	WorkerThreads   *integer `json:"workerThreads"`
	ChatRetries     int64    `json:"chatRetries"`
	HTTPTimeout     duration `json:"httpTimeout"`
	ShutdownTimeout duration `json:"shutdownTimeout"`
	OffsetFetch     duration `json:"offsetFetchPeriod"`
}

type tuningKinesis struct {
	BufferBytes  *integer `json:"recordBufferSizeBytes"`
	OfferTimeout int64    `json:"recordBufferOfferTimeout"`
	FullWait     int64    `json:"recordBufferFullWait"`
	FetchThreads *integer `json:"fetchThreads"`
	BytesPerPoll *integer `json:"maxBytesPerPoll"`
	ListShards   bool     `json:"useListShards"`
}

// Common default values of a tuningConfig.
const (
	defaultStreamRowsInMemory = 150_000
	defaultStreamTotalRows    = 20_000_000
	minOffsetFetch            = 5_000
)

// taskTuningTypes are the names that tuningConfigs of tasks have.
var taskTuningTypes = map[string]string{Kafka: "KafkaTuningConfig", Kinesis: "KinesisTuningConfig", Push: "PushTuningConfig"}

func parseStreamTuning(kind string, text json.RawMessage) (*StreamTuning, error) {
	class := supervisorClass(kind, "SupervisorTuningConfig")
	var head struct {
		Type *string `json:"type"`
	}
	var g tuningGiven
	if err := readPart(class, text, &head); err != nil {
		return nil, err
	}
	if !absent(text) && head.Type != nil && *head.Type != kind && *head.Type != taskTuningTypes[kind] {
		return nil, fault.UnknownSubtype("org.apache.druid.segment.indexing.TuningConfig", *head.Type, slices.Sorted(slices.Values([]string{kind,
			taskTuningTypes[kind]})))
	}
	if err := readPart(class, text, &g); err != nil {
		return nil, err
	}
	t := &StreamTuning{kind: kind}
	if err := t.parseTimes(kind, &g); err != nil {
		return nil, err
	}
	return t, t.parse(kind, &g)
}

func (t *StreamTuning) parseTimes(kind string, g *tuningGiven) error {
	class := supervisorClass(kind, "SupervisorTuningConfig")
	p := &periods{class: class, where: supervisorClass(kind, "SupervisorSpec") + "[\"spec\"]->" +
		supervisorClass(kind, "SupervisorIngestionSpec") + "[\"tuningConfig\"]->" + class}
	s := &t.shown
	s.PersistPeriod = p.period("intermediatePersistPeriod", valueOr(g.PersistPeriod, ""), "PT10M")
	s.HandoffPeriod = p.period("intermediateHandoffPeriod", valueOr(g.HandoffPeriod, ""), "P2147483647D")
	s.tuningSupervised = &tuningSupervised{
		WorkerThreads: g.WorkerThreads, ChatRetries: int64(deref(g.ChatRetries, 8)),
		HTTPTimeout:     p.length("httpTimeout", g.HTTPTimeout, "PT10S"),
		ShutdownTimeout: p.length("shutdownTimeout", g.ShutdownTimeout, "PT80S"),
		OffsetFetch:     p.length("offsetFetchPeriod", g.OffsetFetch, "PT30S"),
	}
	if kind == Kafka { // has its own: what is written is not read
		g.Repartition = nil
	}
	repartition := p.length("repartitionTransitionDuration", g.Repartition, "PT2M")
	s.Repartition = &repartition
	if p.err != nil {
		return p.err
	}
	t.PersistPeriod, t.HandoffPeriod = millisOf(s.PersistPeriod), millisOf(s.HandoffPeriod)
	t.ChatRetries, t.HTTPTimeout, t.ShutdownTimeout = within(s.ChatRetries), int64(s.HTTPTimeout), int64(s.ShutdownTimeout)
	t.OffsetFetchPeriod, t.RepartitionTransition = max(minOffsetFetch, int64(s.OffsetFetch)), int64(repartition)
	return nil
}

// millisOf is how long a period is that may have months.
func millisOf(p chrono.Period) int64 {
	if millis, ok := p.StandardMillis(); ok {
		return millis
	}
	return p.Add(0, chrono.UTC, 1)
}

func (t *StreamTuning) parse(kind string, g *tuningGiven) (err error) {
	s, class := &t.shown, supervisorClass(kind, "SupervisorTuningConfig")
	s.Type = kind
	handoff := integer(900_000)
	if kind == Kinesis {
		handoff = 0
		s.tuningKinesis = &tuningKinesis{g.BufferBytes, int64(deref(g.OfferTimeout, 5000)), int64(deref(g.FullWait, 5000)), g.FetchThreads,
			g.BytesPerPoll, g.ListShards}
		if s.BytesPerPoll == nil {
			bytes := integer(1_000_000)
			s.BytesPerPoll = &bytes
		}
	}
	s.MaxRowsInMemory, s.MaxBytesInMemory = int64(deref(g.MaxRowsInMemory, defaultStreamRowsInMemory)), int64(deref(g.MaxBytesInMemory, 0))
	s.SkipOverhead, s.MaxRowsPerSegment, s.MaxTotalRows = g.SkipOverhead, int64(deref(g.MaxRowsPerSegment, defaultRowsPerSegment)),
		g.MaxTotalRows
	s.PendingPersists, s.ReportParseErrors, s.HandoffTimeout = int64(deref(g.PendingPersists, 0)), g.ReportParseErrors,
		int64(deref(g.HandoffTimeout, handoff))
	s.ResetAuto, s.LogParseErrors, s.SkipAvailability = g.ResetAuto, g.LogParseErrors, g.SkipAvailability && kind != Kafka
	s.PersistThreads, s.MaxColumns, s.ReleaseLocks = int64(deref(g.PersistThreads, 1)), int64(deref(g.MaxColumns, -1)), g.ReleaseLocks
	s.MaxParseErrors, s.SavedParseErrors = int64(deref(g.MaxParseErrors, math.MaxInt32)), int64(deref(g.SavedParseErrors, 0))
	if g.ReportParseErrors {
		s.MaxParseErrors = 0
		s.SavedParseErrors = max(1, s.SavedParseErrors)
	}
	if s.MaxRowsPerSegment <= 0 { // as if it was left out
		s.MaxRowsPerSegment = defaultRowsPerSegment
	}
	if !absent(g.Partitions) {
		s.Partitions = g.Partitions
	}
	if s.IndexSpec, err = FillIndexSpec(g.IndexSpec); err != nil {
		return refusedAs(class, err)
	}
	if s.Intermediate = s.IndexSpec; !absent(g.Intermediate) {
		if s.Intermediate, err = FillIndexSpec(g.Intermediate); err != nil {
			return refusedAs(class, err)
		}
	}
	parts := Tuning{wire: tuningWire{Appendable: g.Appendable, Medium: g.Medium}}
	if s.Appendable, err = parts.appendable(); err != nil {
		return refusedAs(class, err)
	}
	if s.Medium, err = parts.medium(); err != nil {
		return refusedAs(class, err)
	}
	t.indexSpec = s.IndexSpec
	t.MaxRowsInMemory, t.MaxBytesInMemory, t.MaxRowsPerSegment = s.MaxRowsInMemory, max(0, s.MaxBytesInMemory), s.MaxRowsPerSegment
	if t.MaxRowsInMemory <= 0 {
		t.MaxRowsInMemory = defaultStreamRowsInMemory
	}
	if t.MaxTotalRows = s.MaxTotalRows.positive(); t.MaxTotalRows == 0 {
		t.MaxTotalRows = defaultStreamTotalRows
	}
	t.HandoffTimeout, t.ResetAutomatically, t.SkipAvailability = s.HandoffTimeout, s.ResetAuto, s.SkipAvailability
	t.MaxParseErrors, t.SavedParseErrors, t.LogParseErrors = s.MaxParseErrors, min(max(0, s.SavedParseErrors), maxSavedParseErrors),
		s.LogParseErrors
	t.ReleaseLocks = s.ReleaseLocks
	return nil
}

// IndexSpec returns the indexSpec with defaults.
func (t *StreamTuning) IndexSpec() json.RawMessage { return t.indexSpec }

// MarshalJSON returns the config of a supervisor with defaults for all members.
func (t *StreamTuning) MarshalJSON() ([]byte, error) { return json.Marshal(t.shown) }

// ofTask is what tasks see of the config.
func (t *StreamTuning) ofTask() any {
	s := t.shown
	s.Type, s.tuningSupervised, s.Repartition = taskTuningTypes[t.kind], nil, nil
	return s
}
