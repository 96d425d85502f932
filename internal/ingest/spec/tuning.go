package spec

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Tuning is the tuningConfig of a batch task (docs/ingestion.md). Members that have no effect in
// Henge are shown as given.
type Tuning struct {
	// Partitions is the partitionsSpec, which may be derived from deprecated members; nil: none was
	// given.
	Partitions *Partitions
	// MaxParseErrors is the maximum number of records that can't be parsed completely.
	// SavedParseErrors is the number of such records in the report. LogParseErrors writes them to the
	// log of the task.
	MaxParseErrors, SavedParseErrors int64
	LogParseErrors                   bool
	// Workers is the member maxNumConcurrentSubTasks.
	Workers int
	// MaxLocks is the member maxAllowedLockCount; 0: no limit.
	MaxLocks int
	// Perfect is the member forceGuaranteedRollup.
	Perfect bool
	// AwaitMillis is how long the task waits at its end until its rows can be queried; 0: it waits no
	// longer than necessary.
	AwaitMillis int64

	wire tuningWire
	kind string
}

type tuningWire struct {
	Type               string          `json:"type"`
	MaxRowsPerSegment  *integer        `json:"maxRowsPerSegment"`
	Appendable         json.RawMessage `json:"appendableIndexSpec"`
	MaxRowsInMemory    *integer        `json:"maxRowsInMemory"`
	MaxBytesInMemory   *integer        `json:"maxBytesInMemory"`
	SkipOverheadCheck  bool            `json:"skipBytesInMemoryOverheadCheck"`
	MaxTotalRows       *integer        `json:"maxTotalRows"`
	NumShards          *integer        `json:"numShards"`
	SplitHint          json.RawMessage `json:"splitHintSpec"`
	Partitions         *Partitions     `json:"partitionsSpec"`
	PartitionBy        []string        `json:"partitionDimensions"`
	IndexSpec          json.RawMessage `json:"indexSpec"`
	IntermediateSpec   json.RawMessage `json:"indexSpecForIntermediatePersists"`
	MaxPendingPersists *integer        `json:"maxPendingPersists"`
	Perfect            bool            `json:"forceGuaranteedRollup"`
	ReportParseErrors  bool            `json:"reportParseExceptions"`
	PushTimeout        *integer        `json:"pushTimeout"`
	Medium             json.RawMessage `json:"segmentWriteOutMediumFactory"`
	Workers            *integer        `json:"maxNumConcurrentSubTasks"`
	OldWorkers         *integer        `json:"maxNumSubTasks"`
	MaxRetry           *integer        `json:"maxRetry"`
	StatusPeriod       *integer        `json:"taskStatusCheckPeriodMs"`
	ChatTimeout        json.RawMessage `json:"chatHandlerTimeout"`
	ChatRetries        *integer        `json:"chatHandlerNumRetries"`
	SegmentsToMerge    *integer        `json:"maxNumSegmentsToMerge"`
	MergeTasks         *integer        `json:"totalNumMergeTasks"`
	LogParseErrors     bool            `json:"logParseExceptions"`
	MaxParseErrors     *integer        `json:"maxParseExceptions"`
	SavedParseErrors   *integer        `json:"maxSavedParseExceptions"`
	MaxColumnsToMerge  *integer        `json:"maxColumnsToMerge"`
	Await              *integer        `json:"awaitSegmentAvailabilityTimeoutMillis"`
	MaxLocks           *integer        `json:"maxAllowedLockCount"`
}

// The types of tuningConfig: for tasks that work alone, for tasks that may have sub-tasks, for
// compaction.
const (
	TuningIndex      = "index"
	TuningParallel   = "index_parallel"
	TuningCompaction = "compaction"
)

// tuningTypes are those that the tuningConfig of a kind may have.
var tuningTypes = map[string][]string{
	TuningIndex: {TuningIndex}, TuningParallel: {TuningParallel, TuningCompaction},
	TuningCompaction: {TuningParallel, TuningCompaction, TuningIndex},
}

// ParseTuning parses a tuningConfig, which is shown with the given kind. If it is absent, all
// members have their defaults.
func ParseTuning(kind string, text json.RawMessage) (*Tuning, error) {
	t := &Tuning{kind: kind}
	if err := decode("tuningConfig", text, &t.wire); err != nil {
		return nil, err
	}
	if !absent(text) {
		if err := checkType("tuningConfig", t.wire.Type, tuningTypes[kind]...); err != nil {
			return nil, err
		}
	}
	w := &t.wire
	if w.Workers == nil {
		w.Workers = w.OldWorkers
	}
	t.Partitions = w.Partitions
	switch {
	case t.Partitions != nil:
	case w.Perfect && (w.MaxRowsPerSegment.positive() > 0 || w.NumShards.positive() > 0 || len(w.PartitionBy) > 0):
		t.Partitions = &Partitions{Type: "hashed", TargetRows: w.MaxRowsPerSegment.positive(), Shards: int(min(w.NumShards.positive(), maxShards)),
			Dimensions: w.PartitionBy}
	case !w.Perfect && (w.MaxRowsPerSegment != nil || w.MaxTotalRows != nil):
		t.Partitions = &Partitions{Type: "dynamic", MaxRows: w.MaxRowsPerSegment.or(defaultRowsPerSegment), MaxTotalRows: w.MaxTotalRows.positive()}
	}
	t.Perfect = w.Perfect
	t.MaxParseErrors = w.MaxParseErrors.or(math.MaxInt32)
	if w.ReportParseErrors {
		t.MaxParseErrors = 0
	}
	t.SavedParseErrors, t.LogParseErrors = min(w.SavedParseErrors.positive(), maxSavedParseErrors), w.LogParseErrors
	if w.ReportParseErrors && w.SavedParseErrors == nil {
		t.SavedParseErrors = 1
	}
	t.Workers, t.MaxLocks, t.AwaitMillis = int(max(1, min(w.Workers.or(1), math.MaxInt32))), int(w.MaxLocks.positive()), w.Await.positive()
	return t, t.check()
}

// maxSavedParseErrors bounds the rows that a report shows.
const maxSavedParseErrors = 10_000

func (t *Tuning) check() error {
	switch p := t.Given(); {
	case t.Perfect && !p.Perfect():
		return fault.InvalidInput("[partitionsSpec] of type [%s] cannot be used for perfect rollup; known are [hashed, range, single_dim]", p.Type)
	case !t.Perfect && p.Perfect():
		return fault.InvalidInput("[partitionsSpec] of type [%s] needs [forceGuaranteedRollup]: DynamicPartitionsSpec must be used for best-effort rollup", p.Type)
	}
	for name, n := range map[string]*integer{"maxNumConcurrentSubTasks": t.wire.Workers, "maxNumSegmentsToMerge": t.wire.SegmentsToMerge,
		"totalNumMergeTasks": t.wire.MergeTasks} {
		if n != nil && *n <= 0 {
			return fault.InvalidInput("[%s] in [tuningConfig] must be positive, it is [%d]", name, *n)
		}
	}
	if _, err := t.indexSpec(); err != nil {
		return err
	}
	return t.checkParts()
}

// checkParts reads the parts that are kept as they were written and have no effect, so that
// mistakes in them show as elsewhere.
func (t *Tuning) checkParts() error {
	for _, read := range []func() (json.RawMessage, error){t.appendable, t.medium, t.splitHint} {
		if _, err := read(); err != nil {
			return err
		}
	}
	var timeout string
	if absent(t.wire.ChatTimeout) || json.Unmarshal(t.wire.ChatTimeout, &timeout) != nil { // a number is one of milliseconds
		return nil
	}
	if _, err := chrono.ParsePeriod(timeout); err != nil {
		return fault.InvalidInput("[chatHandlerTimeout] in [tuningConfig] is not a period: [%s]", timeout).WithCause(err)
	}
	return nil
}

// appendable returns the appendableIndexSpec with its defaults.
func (t *Tuning) appendable() (json.RawMessage, error) {
	if absent(t.wire.Appendable) {
		t.wire.Appendable = json.RawMessage("{}")
	}
	return jsontext.Appendables.Fill("appendableIndexSpec", t.wire.Appendable, "onheap")
}

// medium returns the segmentWriteOutMediumFactory with its type.
func (t *Tuning) medium() (json.RawMessage, error) {
	if absent(t.wire.Medium) {
		return t.wire.Medium, nil
	}
	return jsontext.Defaults{}.Fill("segmentWriteOutMediumFactory", t.wire.Medium, "tmpFile")
}

// splitHint returns the splitHintSpec with its defaults.
func (t *Tuning) splitHint() (json.RawMessage, error) {
	if absent(t.wire.SplitHint) {
		return t.wire.SplitHint, nil
	}
	filled, err := jsontext.SplitHints.Fill("splitHintSpec", t.wire.SplitHint, "")
	if err != nil {
		return nil, err
	}
	var given struct {
		Type  string   `json:"type"`
		Files *integer `json:"maxNumFiles"`
		Parts *integer `json:"maxNumSegments"`
	}
	if err := decode("splitHintSpec", filled, &given); err != nil {
		return nil, err
	}
	if err := checkType("splitHintSpec", given.Type, "maxSize", "segments"); err != nil {
		return nil, err
	}
	for name, n := range map[string]*integer{"maxNumFiles": given.Files, "maxNumSegments": given.Parts} {
		if n != nil && *n <= 0 {
			return nil, fault.InvalidInput("[%s] in [splitHintSpec] must be larger than 0, it is [%d]", name, *n)
		}
	}
	return filled, nil
}

// Given returns the given partitions, or the default.
func (t *Tuning) Given() *Partitions {
	switch {
	case t.Partitions != nil:
		return t.Partitions
	case t.Perfect:
		return &Partitions{Type: "hashed"}
	}
	return &Partitions{Type: "dynamic", MaxRows: defaultRowsPerSegment}
}

// IndexSpec returns the indexSpec with defaults.
func (t *Tuning) IndexSpec() json.RawMessage {
	text, err := t.indexSpec()
	if err != nil { // refused when it was read
		return nil
	}
	return text
}

// indexDefaults are the members of an indexSpec that are always shown, in their order.
var indexDefaults = []struct {
	name, value string
	known       []string // of a text; nil: it is an object
}{
	{"bitmap", `{"type":"roaring"}`, nil},
	{"dimensionCompression", `"lz4"`, []string{"lz4", "lzf", "zstd", "uncompressed", "none"}},
	{"stringDictionaryEncoding", `{"type":"utf8"}`, nil},
	{"metricCompression", `"lz4"`, []string{"lz4", "lzf", "zstd", "uncompressed", "none"}},
	{"longEncoding", `"longs"`, []string{"longs", "auto"}},
}

func (t *Tuning) indexSpec() (json.RawMessage, error) { return FillIndexSpec(t.wire.IndexSpec) }

// FillIndexSpec returns an indexSpec, which may be absent, with defaults.
func FillIndexSpec(text json.RawMessage) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	if err := decode("indexSpec", text, &given); err != nil {
		return nil, err
	}
	for _, d := range indexDefaults {
		value, ok := given[d.name]
		if !ok || absent(value) {
			given[d.name] = json.RawMessage(d.value)
			continue
		}
		if d.name == "stringDictionaryEncoding" {
			filled, err := fillEncoding(value)
			if err != nil {
				return nil, err
			}
			given[d.name] = filled
			continue
		}
		if err := checkIndexMember(d.name, value, d.known); err != nil {
			return nil, err
		}
	}
	return json.Marshal(given)
}

// fillEncoding returns a stringDictionaryEncoding with its defaults.
func fillEncoding(text json.RawMessage) (json.RawMessage, error) {
	const name = "stringDictionaryEncoding"
	filled, err := jsontext.Encodings.Fill(name, text, "")
	if err != nil {
		return nil, err
	}
	if err := checkIndexMember(name, filled, nil); err != nil {
		return nil, err
	}
	given := struct {
		Bucket  integer `json:"bucketSize"`
		Version integer `json:"formatVersion"`
	}{Bucket: 1}
	if err := decode(name, filled, &given); err != nil {
		return nil, err
	}
	if b := given.Bucket; b < 1 || b > 128 || b&(b-1) != 0 {
		return nil, fault.InvalidInput("[bucketSize] in [%s] must be a power of two up to 128, it is [%d]", name, b)
	}
	if v := given.Version; v != 0 && v != 1 {
		return nil, fault.InvalidInput("[formatVersion] in [%s] must be 0 or 1, it is [%d]", name, v)
	}
	return filled, nil
}

func checkIndexMember(name string, value json.RawMessage, known []string) error {
	if known == nil {
		var object struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(value, &object) != nil {
			return fault.InvalidInput("[%s] in [indexSpec] is not an object with a [type]", name)
		}
		switch object.Type {
		case "roaring", "concise", "utf8", "frontCoded":
			return nil
		}
		return fault.InvalidInput("Type [%s] of [%s] in [indexSpec] is unknown", object.Type, name)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		for _, k := range known {
			if bytes.EqualFold([]byte(k), []byte(text)) {
				return nil
			}
		}
	}
	return fault.InvalidInput("[%s] in [indexSpec] is [%s]; known are %v", name, value, known)
}

// MarshalJSON returns the config with all members of its kind.
func (t *Tuning) MarshalJSON() ([]byte, error) {
	w := t.wire
	def := func(p **integer, n int64) {
		if *p == nil {
			v := integer(n)
			*p = &v
		}
	}
	def(&w.MaxRowsInMemory, 1_000_000)
	def(&w.MaxBytesInMemory, 0)
	def(&w.MaxPendingPersists, 0)
	def(&w.PushTimeout, 0)
	def(&w.Workers, 1)
	def(&w.MaxRetry, 3)
	def(&w.StatusPeriod, 1000)
	def(&w.ChatRetries, 5)
	def(&w.SegmentsToMerge, 100)
	def(&w.MergeTasks, 10)
	def(&w.MaxParseErrors, math.MaxInt32)
	def(&w.SavedParseErrors, 0)
	def(&w.MaxColumnsToMerge, -1)
	def(&w.Await, 0)
	def(&w.MaxLocks, -1)
	for _, part := range []struct {
		shown *json.RawMessage
		read  func() (json.RawMessage, error)
	}{{&w.Appendable, t.appendable}, {&w.Medium, t.medium}, {&w.SplitHint, t.splitHint}} {
		filled, err := part.read()
		if err != nil {
			return nil, err
		}
		*part.shown = filled
	}
	w.showPartitions(t.Partitions)
	if absent(w.ChatTimeout) {
		w.ChatTimeout = json.RawMessage(`"PT10S"`)
	}
	if w.PartitionBy == nil {
		w.PartitionBy = []string{}
	}
	if absent(w.IntermediateSpec) {
		w.IntermediateSpec = t.IndexSpec()
	}
	w.IndexSpec, w.OldWorkers = t.IndexSpec(), nil
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	delete(members, "maxNumSubTasks")
	if t.kind == TuningIndex {
		for _, name := range parallelMembers {
			delete(members, name)
		}
	}
	members["type"] = json.RawMessage(strconv.Quote(t.kind))
	return json.Marshal(members)
}

// showPartitions gives the older members the values of a partitionsSpec.
func (w *tuningWire) showPartitions(p *Partitions) {
	if p == nil {
		return
	}
	number := func(n int64) *integer {
		if n == 0 {
			return nil
		}
		v := integer(n)
		return &v
	}
	w.Partitions = p
	w.MaxTotalRows, w.NumShards = number(p.MaxTotalRows), number(int64(p.Shards))
	switch p.Type {
	case "hashed":
		w.PartitionBy, w.MaxRowsPerSegment = p.Dimensions, number(p.TargetRows)
	default:
		w.MaxRowsPerSegment = number(p.MaxRows)
	}
}

// parallelMembers are those that only tasks with sub-tasks have.
var parallelMembers = []string{"splitHintSpec", "maxNumConcurrentSubTasks", "maxRetry", "taskStatusCheckPeriodMs", "chatHandlerTimeout",
	"chatHandlerNumRetries", "maxNumSegmentsToMerge", "totalNumMergeTasks", "maxAllowedLockCount"}

// integer is a whole number, which may also be given as text. A number's fraction is cut off.
type integer int64

// UnmarshalJSON parses the number.
func (n *integer) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(text, `"`)), 10, 64)
	if f, isNumber := strconv.ParseFloat(string(text), 64); err != nil && isNumber == nil && math.Abs(f) < 1<<53 {
		v, err = int64(f), nil
	}
	if err != nil {
		return fault.InvalidInput("[%s] is not a whole number", text)
	}
	*n = integer(v)
	return nil
}

// positive returns the number, or 0 if there is none or it is negative, which means that there is
// no limit.
func (n *integer) positive() int64 {
	if n == nil {
		return 0
	}
	return max(0, int64(*n))
}

// or returns the number if it is positive or zero, else a default.
func (n *integer) or(def int64) int64 {
	if n == nil || *n < 0 {
		return def
	}
	return int64(*n)
}
