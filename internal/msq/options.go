package msq

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	ingestspec "github.com/hengedb/henge/internal/ingest/spec"
)

// Options are the context parameters of the multi-stage engine (spec/ingestion.md, section 3), read and checked once.
type Options struct {
	MaxNumTasks         int
	AutoAssignment      bool  // taskAssignment=auto
	MaxInputBytes       int64 // per worker, for auto
	MaxInputFiles       int   // per worker
	FinalizeAggregation bool
	ArraysAsMultiValue  bool // arrayIngestMode=mvd
	SortMergeJoin       bool
	RowsPerSegment      int
	MaxNumSegments      int // per time chunk; 0: no limit
	MaxPartitions       int
	MaxClusteredBy      int
	RowsInMemory        int
	SegmentSortOrder    []string
	SortByTime          bool
	IndexSpec           json.RawMessage
	FailOnEmptyInsert   bool
	WaitUntilLoaded     bool
	MaxParseExceptions  int64 // -1: no limit
	RemoveNullBytes     bool
	DurableResults      bool
	RowsPerPage         int
	MaxFrameSize        int64
	MaxThreads          int // 0: no limit
	MaxWindowRows       int // of a partition; 0: what fits in memory
	AllCounters         bool
	LockType            LockType // "" until the statement decides
	ConcurrentLocks     bool
	Priority            int
	Timeout             time.Duration // 0: none
	Deadline            time.Time     // queryDeadline; zero: none
	Reindex             bool
	StoreCompaction     bool // storeCompactionState, of a REPLACE
	// TargetPartitions is how many partitions of a shuffle by hash each worker gets, ConcurrentStages how many stages run at a time.
	TargetPartitions, ConcurrentStages int
	// DurableShuffle keeps what stages hand on in deep storage. FaultTolerance does too, and runs workers again that failed for a reason that may pass.
	DurableShuffle, FaultTolerance bool
	AutoColumns                    bool // useAutoColumnSchemas
	// Native says that the job is one of a native task: the fixed limits of statements do not hold, and those with a context parameter only if it is given.
	Native bool
}

// NativeParameters are the context parameters that native tasks take over from the multi-stage engine as they are.
var NativeParameters = []string{"maxFrameSize", "maxInputFilesPerWorker", "maxPartitions", "maxClusteredByColumns", "maxThreads", "maxNumSegments",
	"targetPartitionsPerWorker", "maxConcurrentStages", "faultTolerance", "durableShuffleStorage", "failOnEmptyInsert"}

// StatementParameters are the context parameters of statements that have no effect on a native task: its spec says such things.
var StatementParameters = []string{"maxNumTasks", "numTasks", "taskAssignment", "maxInputBytesPerWorker", "finalizeAggregations", "arrayIngestMode", "sqlJoinAlgorithm",
	"rowsPerSegment", "rowsInMemory", "maxRowsInMemory", "segmentSortOrder", "forceSegmentSortByTime", "indexSpec", "maxParseExceptions", "mode", "removeNullBytes",
	"waitUntilSegmentsLoad", "selectDestination", "rowsPerPage", "timeout"}

// ParseNativeOptions is ParseOptions for a native task.
func ParseNativeOptions(context map[string]any) (*Options, error) {
	own := map[string]any{"maxFrameSize": int64(math.MaxInt32), "maxInputFilesPerWorker": int64(math.MaxInt32), "maxPartitions": int64(math.MaxInt32),
		"maxClusteredByColumns": int64(math.MaxInt32)}
	maps.Copy(own, context)
	o, err := ParseOptions(own)
	if err == nil {
		o.Native = true
	}
	return o, err
}

// maxBuckets bounds the time chunks of a job.
func (o *Options) maxBuckets() int {
	if o.Native {
		return math.MaxInt
	}
	return maxBuckets
}

// maxColumns bounds the columns of segments.
func (o *Options) maxColumns() int {
	if o.Native {
		return math.MaxInt
	}
	return maxColumns
}

// Lock returns the kind of lock that a statement takes; replace: it is a REPLACE.
func (o *Options) Lock(replace bool) LockType {
	switch {
	case o.LockType != "":
		return o.LockType
	case replace && o.ConcurrentLocks:
		return Replace
	case replace:
		return Exclusive
	case o.ConcurrentLocks:
		return Append
	}
	return Shared
}

// ParseOptions reads the parameters from a query context. Values are of the types that JSON gives, with numbers as json.Number or float64;
// a text that holds a value counts as that value, as in the reference. Parameters that mean nothing here are left alone.
func ParseOptions(context map[string]any) (*Options, error) {
	c := contextReader{values: context}
	tasks := c.integer("numTasks", 2)
	o := &Options{
		MaxNumTasks:         int(c.integer("maxNumTasks", tasks)),
		AutoAssignment:      c.enum("taskAssignment", "WorkerAssignmentStrategy", "max", "auto") == "auto",
		MaxInputBytes:       c.positive("maxInputBytesPerWorker", defaultInputBytes),
		MaxInputFiles:       int(c.positive("maxInputFilesPerWorker", defaultMaxInputFiles)),
		FinalizeAggregation: c.boolean("finalizeAggregations", true),
		ArraysAsMultiValue:  c.enum("arrayIngestMode", "ArrayIngestMode", "array", "mvd") == "mvd",
		SortMergeJoin:       c.oneOf("sqlJoinAlgorithm", "Expected key [sqlJoinAlgorithm] to be one of [broadcast, sortMerge], but got [%s]", "broadcast", "sortMerge") == "sortMerge",
		RowsPerSegment:      int(c.positive("rowsPerSegment", defaultRowsPerSegment)),
		MaxNumSegments:      int(c.positive("maxNumSegments", 0)),
		MaxPartitions:       int(c.positive("maxPartitions", defaultMaxPartitions)),
		MaxClusteredBy:      int(c.positive("maxClusteredByColumns", defaultMaxClusteredBy)),
		RowsInMemory:        int(c.positive("maxRowsInMemory", c.positive("rowsInMemory", defaultRowsInMemory))),
		SegmentSortOrder:    c.list("segmentSortOrder"),
		SortByTime:          c.boolean("forceSegmentSortByTime", true),
		IndexSpec:           c.indexSpec(),
		FailOnEmptyInsert:   c.boolean("failOnEmptyInsert", false),
		WaitUntilLoaded:     c.boolean("waitUntilSegmentsLoad", false),
		RemoveNullBytes:     c.boolean("removeNullBytes", false),
		DurableResults:      c.enum("selectDestination", "MSQSelectDestination", "taskReport", "durableStorage") == "durableStorage",
		RowsPerPage:         int(c.positive("rowsPerPage", defaultRowsPerPage)),
		MaxFrameSize:        c.positive("maxFrameSize", defaultMaxFrameSize),
		MaxThreads:          int(c.positive("maxThreads", 0)),
		MaxWindowRows:       int(c.positive("maxRowsMaterializedInWindow", 0)),
		AllCounters:         c.boolean("includeAllCounters", true),
		LockType:            LockType(strings.ToUpper(c.text("taskLockType"))),
		ConcurrentLocks:     c.boolean("useConcurrentLocks", false),
		Priority:            int(c.integer("priority", 50)),
		Timeout:             time.Duration(min(max(c.long("timeout", 0), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		Deadline:            c.instant("queryDeadline"),
		Reindex:             c.boolean("isReindex", false),
		StoreCompaction:     c.boolean("storeCompactionState", false),
		TargetPartitions:    int(c.positive("targetPartitionsPerWorker", 1)),
		ConcurrentStages:    int(c.positive("maxConcurrentStages", 1)),
		FaultTolerance:      c.boolean("faultTolerance", false),
		AutoColumns:         c.boolean("useAutoColumnSchemas", false),
	}
	o.DurableShuffle = c.boolean("durableShuffleStorage", false) || o.FaultTolerance
	// What these choose between is the same here: docs/ingestion.md says why.
	c.enum("includeSegmentSource", "SegmentSource", "NONE", "REALTIME")
	c.enum("clusterStatisticsMergeMode", "ClusterStatisticsMergeMode", "SEQUENTIAL", "PARALLEL", "AUTO")
	c.boolean("backgroundFetchExternalFiles", true)
	strict := int64(0)
	if c.oneOf("mode", "%s is an unknown multi stage query mode. Acceptable modes: [nonStrict, strict]", "strict", "nonStrict") == "nonStrict" {
		strict = -1
	}
	o.MaxParseExceptions = c.long("maxParseExceptions", strict)
	if c.err != nil {
		return nil, c.err
	}
	if o.MaxNumTasks < 2 {
		return nil, fault.InvalidInput("MSQ context maxNumTasks [%d] cannot be less than 2, since at least 1 controller and 1 worker is necessary", o.MaxNumTasks)
	}
	if o.SortByTime && len(o.SegmentSortOrder) > 0 && o.SegmentSortOrder[0] != "__time" {
		return nil, fault.InvalidInput("Context parameter[segmentSortOrder] must start with[__time] unless context parameter[forceSegmentSortByTime] " +
			"is set to[false]. If set to[false], segments are sorted by the columns given alone.")
	}
	return o, nil
}

// contextReader reads values and keeps the first error.
type contextReader struct {
	values map[string]any
	err    error
}

func (c *contextReader) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fault.BadContext(format, args...)
	}
}

// integer reads a whole number; text must hold one of 32 bits.
func (c *contextReader) integer(name string, def int64) int64 {
	return c.whole(name, def, "an Integer", "integer", 32)
}

// long is integer with 64 bits.
func (c *contextReader) long(name string, def int64) int64 {
	return c.whole(name, def, "a Long", "long", 64)
}

// whole reads a number, of which what is behind the point is left out, or text that holds a whole one.
func (c *contextReader) whole(name string, def int64, kind, format string, bits int) int64 {
	text, isText := c.values[name].(string)
	switch v := c.values[name].(type) {
	case nil:
		return def
	case string, int, int64, float64, json.Number:
		if !isText {
			text = fmt.Sprint(v)
		}
	default:
		c.fail("Expected key [%s] to be %s, but got [%s]", name, kind, fault.JSONClass(v))
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, notNumber := strconv.ParseFloat(text, 64)
		if err = notNumber; math.Abs(f) >= 1<<63 || isText && f != math.Trunc(f) {
			err = strconv.ErrRange
		}
		n = int64(f)
	}
	if err != nil || isText && bits == 32 && int64(int32(n)) != n {
		c.fail("Expected key [%s] to be in %s format, but got [%s]", name, format, text)
		return def
	}
	return n
}

// positive reads an integer above 0; def may be 0 for "not set".
func (c *contextReader) positive(name string, def int64) int64 {
	read := c.integer
	if name == "maxInputBytesPerWorker" {
		read = c.long
	}
	n := read(name, def)
	if value, ok := c.values[name]; ok && value != nil && (n <= 0 || n > math.MaxInt32 && name != "maxInputBytesPerWorker") {
		c.fail("Query context parameter [%s] must be a positive integer, but it is [%v]", name, value)
		return def
	}
	return n
}

// boolean reads true or false, also as text; text that is neither is false.
func (c *contextReader) boolean(name string, def bool) bool {
	switch v := c.values[name].(type) {
	case nil:
		return def
	case bool:
		return v
	case string:
		return strings.EqualFold(v, "true")
	default:
		c.fail("Expected key [%s] to be a Boolean, but got [%s]", name, fault.JSONClass(v))
		return def
	}
}

func (c *contextReader) text(name string) string {
	switch v := c.values[name].(type) {
	case nil:
	case string:
		return v
	default:
		c.fail("Expected key [%s] to be a String, but got [%s]", name, fault.JSONClass(v))
	}
	return ""
}

// instant reads a time as ISO 8601 text; the zero time: not set.
func (c *contextReader) instant(name string) time.Time {
	text := c.text(name)
	if text == "" {
		return time.Time{}
	}
	ms, err := chrono.ParseInstant(text)
	if err != nil {
		c.fail("Query context parameter [%s] must be a time such as 2026-01-01T00:00:00Z, but it is [%s]", name, text)
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// oneOf reads one of the choices, in any case; the first is the default. Another is refused with a message that may have a verb for the
// value.
func (c *contextReader) oneOf(name, refusal string, choices ...string) string {
	text := c.text(name)
	if _, given := c.values[name].(string); !given {
		return choices[0]
	}
	for _, choice := range choices {
		if strings.EqualFold(choice, text) {
			return choice
		}
	}
	c.fail(refusal, text)
	return choices[0]
}

// enum is oneOf for what the reference declares as an enum: its messages name it.
func (c *contextReader) enum(name, enum string, choices ...string) string {
	return c.oneOf(name, "Expected key ["+name+"] to be referring to one of the values ["+strings.ToUpper(strings.Join(choices, ","))+"] of enum ["+enum+"], but got [%s]", choices...)
}

// list reads an array of strings, its JSON text, or names between commas.
func (c *contextReader) list(name string) []string {
	var out []string
	switch value := c.values[name].(type) {
	case nil:
		return nil
	case string:
		if json.Unmarshal([]byte(value), &out) != nil {
			for part := range strings.SplitSeq(value, ",") {
				out = append(out, strings.TrimSpace(part))
			}
		}
	case []any:
		for _, v := range value {
			out = append(out, fmt.Sprint(v))
		}
	default:
		c.fail("Expected key [%s] to be a String, but got [%s]", name, fault.JSONClass(value))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// indexSpec reads the indexSpec and fills in its defaults; nil if none was given.
func (c *contextReader) indexSpec() json.RawMessage {
	given := c.object("indexSpec")
	if given == nil {
		return nil
	}
	filled, err := ingestspec.FillIndexSpec(given)
	if err != nil {
		c.fail("Expected key [indexSpec] to be an indexSpec, but got [%s]: %v", given, err)
	}
	return filled
}

// object reads an object or its JSON text.
func (c *contextReader) object(name string) json.RawMessage {
	value, ok := c.values[name]
	if !ok || value == nil {
		return nil
	}
	text, isText := value.(string)
	if !isText {
		encoded, err := json.Marshal(value)
		if err != nil {
			c.fail("Expected key [%s] to be an %s, but got [%v]", name, name, value)
			return nil
		}
		text = string(encoded)
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		c.fail("Expected key [%s] to be an %s, but got [%v]", name, name, value)
		return nil
	}
	return json.RawMessage(text)
}
