package msq

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	ingestspec "github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/tasklock"
)

// Options are the context parameters of the multi-stage engine, parsed and validated once.
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
	LockType            tasklock.Type // "" until the statement decides
	ConcurrentLocks     bool
	Priority            int
	Timeout             time.Duration // 0: none
	Deadline            time.Time     // queryDeadline; zero: none
	Reindex             bool
	StoreCompaction     bool // storeCompactionState, of a REPLACE
	// TargetPartitions is the number of partitions of a hash shuffle per worker, ConcurrentStages the
	// number of concurrent stages.
	TargetPartitions, ConcurrentStages int
	// DurableShuffle stores the outputs of stages in deep storage. FaultTolerance does too, and
	// retries workers after transient failures.
	DurableShuffle, FaultTolerance bool
	AutoColumns                    bool // useAutoColumnSchemas
	// Native is true for a job of a native task: the fixed limits of statements do not apply, and
	// limits with a context parameter apply only if the context contains it.
	Native bool
}

// NativeParameters are the context parameters of the multi-stage engine that also apply to native
// tasks.
var NativeParameters = querycontext.Keys(
	querycontext.MaxFrameSize, querycontext.MaxInputFiles, querycontext.MaxPartitions, querycontext.MaxClusteredBy,
	querycontext.MaxThreads, querycontext.MaxNumSegments, querycontext.TargetPerWork, querycontext.ParallelStages,
	querycontext.FaultTolerance, querycontext.DurableShuffle, querycontext.FailOnEmptyInsert,
)

// StatementParameters are the context parameters of statements that have no effect on a native
// task, because its spec has equivalent members.
var StatementParameters = querycontext.Keys(
	querycontext.MaxNumTasks, querycontext.NumTasks, querycontext.Assignment, querycontext.MaxInputBytes,
	querycontext.FinalizeAggregations, querycontext.ArrayIngestMode, querycontext.JoinAlgorithm, querycontext.RowsPerSegment,
	querycontext.RowsInMemory, querycontext.MaxRowsInMemory, querycontext.SegmentSortOrder, querycontext.SortByTime,
	querycontext.IndexSpec, querycontext.MaxParseExceptions, querycontext.Mode, querycontext.RemoveNullBytes,
	querycontext.WaitUntilLoad, querycontext.Destination, querycontext.RowsPerPage, querycontext.Timeout,
)

// ParseNativeOptions is ParseOptions for a native task, which has some limits of statements only if
// its context contains them.
func ParseNativeOptions(context map[string]any) (*Options, error) {
	own := map[string]any{
		querycontext.MaxFrameSize.Key(): math.MaxInt32, querycontext.MaxInputFiles.Key(): math.MaxInt32,
		querycontext.MaxPartitions.Key(): math.MaxInt32, querycontext.MaxClusteredBy.Key(): math.MaxInt32,
	}
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

// Lock returns the kind of lock of a statement; replace is true for REPLACE.
func (o *Options) Lock(replace bool) tasklock.Type {
	switch {
	case o.LockType != "":
		return o.LockType
	case replace && o.ConcurrentLocks:
		return tasklock.Replace
	case replace:
		return tasklock.Exclusive
	case o.ConcurrentLocks:
		return tasklock.Append
	}
	return tasklock.Shared
}

// ParseOptions parses the parameters in a query context, and ignores other parameters.
func ParseOptions(context map[string]any) (*Options, error) {
	c := &querycontext.Reader{Values: context}
	o := &Options{
		MaxNumTasks:         querycontext.MaxNumTasks.FromOr(c, querycontext.NumTasks.From(c)),
		AutoAssignment:      querycontext.Assignment.From(c) == "auto",
		MaxInputBytes:       querycontext.MaxInputBytes.From(c),
		MaxInputFiles:       querycontext.MaxInputFiles.From(c),
		FinalizeAggregation: querycontext.FinalizeAggregations.From(c),
		ArraysAsMultiValue:  querycontext.ArrayIngestMode.From(c) == "mvd",
		SortMergeJoin:       querycontext.JoinAlgorithm.From(c) == "sortMerge",
		RowsPerSegment:      querycontext.RowsPerSegment.From(c),
		MaxNumSegments:      querycontext.MaxNumSegments.From(c),
		MaxPartitions:       querycontext.MaxPartitions.From(c),
		MaxClusteredBy:      querycontext.MaxClusteredBy.From(c),
		RowsInMemory:        querycontext.MaxRowsInMemory.FromOr(c, querycontext.RowsInMemory.From(c)),
		SegmentSortOrder:    querycontext.SegmentSortOrder.From(c),
		SortByTime:          querycontext.SortByTime.From(c),
		IndexSpec:           readIndexSpec(c),
		FailOnEmptyInsert:   querycontext.FailOnEmptyInsert.From(c),
		WaitUntilLoaded:     querycontext.WaitUntilLoad.From(c),
		RemoveNullBytes:     querycontext.RemoveNullBytes.From(c),
		DurableResults:      querycontext.Destination.From(c) == "durableStorage",
		RowsPerPage:         querycontext.RowsPerPage.From(c),
		MaxFrameSize:        int64(querycontext.MaxFrameSize.From(c)),
		MaxThreads:          querycontext.MaxThreads.From(c),
		MaxWindowRows:       querycontext.MaxWindowRows.From(c),
		AllCounters:         querycontext.AllCounters.From(c),
		LockType:            tasklock.Type(strings.ToUpper(querycontext.TaskLockType.From(c))),
		ConcurrentLocks:     querycontext.ConcurrentLocks.From(c),
		Priority:            querycontext.Priority.FromOr(c, taskPriority),
		Timeout:             time.Duration(min(max(querycontext.Timeout.From(c), 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		Deadline:            readDeadline(c),
		Reindex:             querycontext.Reindex.From(c),
		StoreCompaction:     querycontext.StoreCompaction.From(c),
		TargetPartitions:    querycontext.TargetPerWork.From(c),
		ConcurrentStages:    querycontext.ParallelStages.From(c),
		FaultTolerance:      querycontext.FaultTolerance.From(c),
		AutoColumns:         querycontext.AutoColumns.From(c),
	}
	o.DurableShuffle = querycontext.DurableShuffle.From(c) || o.FaultTolerance
	// What these choose between is the same here: docs/ingestion.md says why.
	querycontext.SegmentSource.From(c)
	querycontext.MergeMode.From(c)
	querycontext.BackgroundFetch.From(c)
	strict := querycontext.MaxParseExceptions.Default()
	if querycontext.Mode.From(c) == "nonStrict" {
		strict = -1
	}
	o.MaxParseExceptions = querycontext.MaxParseExceptions.FromOr(c, strict)
	if err := c.Err(); err != nil {
		return nil, err
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

// taskPriority is the priority of tasks whose context sets none.
const taskPriority = 50

// readDeadline reads a time as ISO 8601 text; the zero time: not set.
func readDeadline(c *querycontext.Reader) time.Time {
	text := querycontext.Deadline.From(c)
	if text == "" {
		return time.Time{}
	}
	ms, err := chrono.ParseInstant(text)
	if err != nil {
		c.Fail(fault.BadContext("Query context parameter [%s] must be a time such as 2026-01-01T00:00:00Z, but it is [%s]", querycontext.Deadline.Key(), text))
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// readIndexSpec reads the indexSpec and fills in its defaults; nil if none was given.
func readIndexSpec(c *querycontext.Reader) json.RawMessage {
	given := querycontext.IndexSpec.From(c)
	if given == nil {
		return nil
	}
	filled, err := ingestspec.FillIndexSpec(given)
	if err != nil {
		c.Fail(fault.BadContext("Expected key [indexSpec] to be an indexSpec, but got [%s]: %v", given, err))
	}
	return filled
}
