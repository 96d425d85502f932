package msq

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
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
		AutoAssignment:      c.oneOf("taskAssignment", "max", "auto") == "auto",
		MaxInputBytes:       c.positive("maxInputBytesPerWorker", defaultInputBytes),
		MaxInputFiles:       int(c.positive("maxInputFilesPerWorker", defaultMaxInputFiles)),
		FinalizeAggregation: c.boolean("finalizeAggregations", true),
		ArraysAsMultiValue:  c.oneOf("arrayIngestMode", "array", "mvd") == "mvd",
		SortMergeJoin:       c.oneOf("sqlJoinAlgorithm", "broadcast", "sortMerge") == "sortMerge",
		RowsPerSegment:      int(c.positive("rowsPerSegment", defaultRowsPerSegment)),
		MaxNumSegments:      int(c.positive("maxNumSegments", 0)),
		MaxPartitions:       int(c.positive("maxPartitions", defaultMaxPartitions)),
		MaxClusteredBy:      int(c.positive("maxClusteredByColumns", defaultMaxClusteredBy)),
		RowsInMemory:        int(c.positive("maxRowsInMemory", c.positive("rowsInMemory", defaultRowsInMemory))),
		SegmentSortOrder:    c.list("segmentSortOrder"),
		SortByTime:          c.boolean("forceSegmentSortByTime", true),
		IndexSpec:           c.object("indexSpec"),
		FailOnEmptyInsert:   c.boolean("failOnEmptyInsert", false),
		WaitUntilLoaded:     c.boolean("waitUntilSegmentsLoad", false),
		RemoveNullBytes:     c.boolean("removeNullBytes", false),
		DurableResults:      c.oneOf("selectDestination", "taskReport", "durableStorage") == "durableStorage",
		RowsPerPage:         int(c.positive("rowsPerPage", defaultRowsPerPage)),
		MaxFrameSize:        c.positive("maxFrameSize", defaultMaxFrameSize),
		MaxThreads:          int(c.positive("maxThreads", 0)),
		MaxWindowRows:       int(c.positive("maxRowsMaterializedInWindow", 0)),
		AllCounters:         c.boolean("includeAllCounters", true),
		LockType:            LockType(strings.ToUpper(c.text("taskLockType"))),
		ConcurrentLocks:     c.boolean("useConcurrentLocks", false),
		Priority:            int(c.integer("priority", 50)),
		Timeout:             time.Duration(min(max(c.integer("timeout", 0), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
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
	c.oneOf("includeSegmentSource", "NONE", "REALTIME")
	c.oneOf("clusterStatisticsMergeMode", "SEQUENTIAL", "PARALLEL", "AUTO")
	c.boolean("backgroundFetchExternalFiles", true)
	strict := int64(0)
	if c.oneOf("mode", "strict", "nonStrict") == "nonStrict" {
		strict = -1
	}
	o.MaxParseExceptions = c.integer("maxParseExceptions", strict)
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

func (c *contextReader) fail(name, want string, value any) {
	if c.err == nil {
		c.err = fault.BadContext("Query context parameter [%s] must be %s, but it is [%v]", name, want, value)
	}
}

func (c *contextReader) integer(name string, def int64) int64 {
	value, ok := c.values[name]
	if !ok || value == nil {
		return def
	}
	if n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64); err == nil {
		return n
	}
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	c.fail(name, "an integer", value)
	return def
}

// positive reads an integer above 0; def may be 0 for "not set".
func (c *contextReader) positive(name string, def int64) int64 {
	n := c.integer(name, def)
	if value, ok := c.values[name]; ok && value != nil && (n <= 0 || n > math.MaxInt32 && name != "maxInputBytesPerWorker") {
		c.fail(name, "a positive integer", value)
		return def
	}
	return n
}

func (c *contextReader) boolean(name string, def bool) bool {
	value, ok := c.values[name]
	if !ok || value == nil {
		return def
	}
	switch strings.ToLower(fmt.Sprint(value)) {
	case "true":
		return true
	case "false":
		return false
	}
	c.fail(name, "true or false", value)
	return def
}

func (c *contextReader) text(name string) string {
	value, ok := c.values[name]
	if !ok || value == nil {
		return ""
	}
	s, ok := value.(string)
	if !ok {
		c.fail(name, "a string", value)
	}
	return s
}

// instant reads a time as ISO 8601 text; the zero time: not set.
func (c *contextReader) instant(name string) time.Time {
	text := c.text(name)
	if text == "" {
		return time.Time{}
	}
	ms, err := chrono.ParseInstant(text)
	if err != nil {
		c.fail(name, "a time such as 2026-01-01T00:00:00Z", text)
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// oneOf reads one of the choices, in any case; the first is the default.
func (c *contextReader) oneOf(name string, choices ...string) string {
	text := c.text(name)
	if text == "" {
		return choices[0]
	}
	for _, choice := range choices {
		if strings.EqualFold(choice, text) {
			return choice
		}
	}
	c.fail(name, "one of ["+strings.Join(choices, ", ")+"]", text)
	return choices[0]
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
		c.fail(name, "a list of columns", value)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
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
			c.fail(name, "an object", value)
			return nil
		}
		text = string(encoded)
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		c.fail(name, "an object", value)
		return nil
	}
	return json.RawMessage(text)
}
