package querycontext

import "math"

// Parameters of queries.
var (
	QueryID = text(Native|Statement, "queryId", "", "Id of a native query, used to cancel it and in logs. The default is a random id.")
	Timeout = long(SQL|Native|Statement|CheckedBySQL, "timeout", 0, "Milliseconds after which the query fails; 0: no limit. "+
		"The default of SQL and native queries is `service.server.http.defaultQueryTimeout`.")
	Priority = integer(SQL|Native|Statement|Batch|Router|CheckedBySQL, "priority", 0, "Queries with a higher priority get CPU time "+
		"first, and "+
		"tasks with a higher priority start first. The default of tasks depends on their type: 50 for batch tasks.")
	Lane  = text(SQL|Native|CheckedBySQL, "lane", "", "Lane of the query, with `service.query.scheduler.laning.strategy=manual`.")
	Cache = boolean(SQL|Native|CheckedByNative, "useCache", true, "Read results of single segments from the cache.")
	Fill  = boolean(SQL|Native|CheckedByNative, "populateCache", true, "Write results of single segments to the cache.")

	ResultCache     = boolean(SQL|Native, "useResultLevelCache", true, "Read the result from the result cache.")
	FillResultCache = boolean(SQL|Native, "populateResultLevelCache", true, "Write the result to the result cache.")
	CloneQueryMode  = text(SQL|Native, "cloneQueryMode", "excludeClones", "Whether to query clones: `excludeClones`, `includeClones` "+
		"(like other servers), `preferClones` (only clones, for segments that a clone holds).")
	RealtimeSegmentsOnly = boolean(SQL|Native, "realtimeSegmentsOnly", false, "Read only unpublished segments.")
	RealtimeSegmentsMode = text(SQL|Native, "realtimeSegmentsMode", "include", "Whether to read unpublished segments: `include`, "+
		"`exclude`, or `exclusive` (only these).")
	UncoveredIntervals = integer(SQL|Native|CheckedBySQL, "uncoveredIntervalsLimit", 0,
		"Maximum number of queried intervals without segments that the header `X-Service-Response-Context` lists.")
	BrokerService   = text(Router, "brokerService", "", "Service name of the Brokers that run the query, with the strategy `manual` of the Router.")
	MultiValueGroup = boolean(SQL|Native|CheckedByNative, "groupByEnableMultiValueUnnesting", true,
		"False rejects grouping by a multi-value string with several values.")
	SkipEmptyBuckets = boolean(SQL|Native|Explain, "skipEmptyBuckets", false, "Omit time buckets without rows. In SQL the default is true.")
	Finalize         = boolean(SQL|Native|Explain|CheckedBySQL|CheckedByNative, "finalize", true,
		"False returns the states of sketches instead of their estimates.")
)

// Parameters of SQL queries.
var (
	SQLQueryID = text(SQL|Statement, "sqlQueryId", "", "Id of a SQL query, used to cancel it and in logs. The default is a random id.")
	Engine     = text(SQL, "engine", "native", "The endpoint of SQL queries supports only `native`.")
	SQLZone    = text(SQL|Statement, "sqlTimeZone", "", "Time zone of the statement, such as `Europe/Berlin`. "+
		"The default is `service.sql.planner.sqlTimeZone`.")
	SQLNow = text(SQL|Statement, "sqlCurrentTimestamp", "", "Value of `CURRENT_TIMESTAMP`, in ISO 8601. The default is the time "+
		"at which the statement arrives.")
	SQLOuterLimit   = long(SQL|Statement, "sqlOuterLimit", -1, "Maximum number of rows of the result; -1: no limit.")
	StringifyArrays = boolean(SQL|Statement|CheckedBySQL, "sqlStringifyArrays", true, "Return arrays as strings with JSON. False returns "+
		"JSON arrays.")
	ErrorAsRow = boolean(SQL, "writeExceptionBodyAsResponseRow", false, "Return an error that occurs after the first rows as a row.")

	ApproximateDistinct = boolean(SQL|Statement, "useApproximateCountDistinct", true, "`COUNT(DISTINCT x)` is an estimate.")
	FinalizeSketches    = boolean(SQL|Statement, "sqlFinalizeOuterSketches", false, "Return the estimates of sketches instead of the "+
		"sketches.")
	MaxSubqueryRows = integer(SQL|CheckedBySQL, "maxSubqueryRows", 0, "Maximum number of rows on the right side of a join; a join with "+
		"more rows fails. 0: no limit.")
	MaxSubqueryBytes = add(SQL, "long, `auto`, `disabled`, `unlimited`", "maxSubqueryBytes", 0, "auto",
		"The same limit in bytes; the three names mean no limit.", readByteLimit)
)

// Parameters of native queries.
var (
	BySegment  = boolean(Native|CheckedByNative, "bySegment", false, "Return the result of each segment separately.")
	GrandTotal = boolean(Native|CheckedBySQL|CheckedByNative, "grandTotal", false, "timeseries: append a row over all buckets.")
	ArrayRows  = boolean(Native|CheckedByNative, "resultAsArray", false, "groupBy: return rows as arrays instead of objects.")
	LongTimes  = boolean(Native|CheckedByNative, "serializeDateTimeAsLong", false, "Return times as milliseconds instead of ISO 8601.")
	SortByDims = boolean(Native|CheckedBySQL|CheckedByNative, "sortByDimsFirst", false, "groupBy: sort by dimensions before time.")
	TimeResult = mixed(Native, "text", "timestampResultField", "", "timeseries, groupBy: name of an additional member with the time. SQL "+
		"rejects it.")
	Fudge   = mixed(Native, "text", "fudgeTimestamp", "", "groupBy: time of rows with granularity `all`.")
	GroupBy = text(Native|CheckedBySQL, "groupByStrategy", "", "groupBy: `v1` or `v2`, which have the same effect; native queries "+
		"reject other values.")
)

// Parameters of EXPLAIN PLAN FOR: they choose the native query that is shown, and do not change
// results.
var (
	NativeExplain   = boolean(Explain|CheckedBySQL, "useNativeQueryExplain", true, "Show native queries. False shows a tree.")
	ApproximateTopN = boolean(Explain|CheckedBySQL, "useApproximateTopN", true, "Show topN queries.")
	GroupingSets    = boolean(Explain|CheckedBySQL, "useGroupingSetForExactDistinct", false, "Show several exact distinct counts as "+
		"grouping sets.")
	TimeBoundary    = boolean(Explain|CheckedBySQL, "enableTimeBoundaryPlanning", false, "Show timeBoundary queries.")
	ExpressionsOnly = boolean(Explain|CheckedBySQL, "forceExpressionVirtualColumns", false, "Show virtual columns as expressions only.")
	BoundFilters    = boolean(Explain, "sqlUseBoundAndSelectors", false, "Show filters of types bound and selector.")
	InSubQuery      = integer(Explain|CheckedBySQL, "inSubQueryThreshold", math.MaxInt32, "Number of values from which `IN` lists are "+
		"shown as joins.")
)

// Parameters that the server sets.
var (
	ResultGrain = mixed(Server, "text", "timestampResultFieldGranularity", "", "Granularity of `timestampResultField`; SQL rejects it.")
	ResultIndex = mixed(Server, "integer", "timestampResultFieldInOriginalDimensions", "", "Position of `timestampResultField`; SQL "+
		"rejects it.")
	InsertGrain      = text(Server, "sqlInsertSegmentGranularity", "", "From `PARTITIONED BY`; users cannot set it.")
	ReplacedChunks   = text(Server, "sqlReplaceTimeChunks", "", "From `OVERWRITE`; users cannot set it.")
	ResultFormat     = text(Server, "__resultFormat", "", "Reserved; users cannot set it.")
	User             = text(Server, "__user", "", "The user of a statement; users cannot set it.")
	CompactionReason = text(Server, "compactionReason", "", "Reason for a task of automatic compaction.")
)

// Parameters of statements that run as tasks.
var (
	ExecutionMode = mixed(Statement, "`ASYNC`", "executionMode", "", "Required by `/service/v2/sql/statements`.")
	NumTasks      = integer(Statement, "numTasks", 2, "Older name of `maxNumTasks`.")
	MaxNumTasks   = integer(Statement, "maxNumTasks", 2, "Maximum number of tasks: one controller and the workers of a stage; at least 2.")
	Assignment    = enum(Statement, "taskAssignment", "WorkerAssignmentStrategy", "`auto` uses only as many workers as the input needs.", "max", "auto")
	MaxInputBytes = positiveLong(Statement, "maxInputBytesPerWorker", 512<<20, "Maximum bytes of input per worker, with "+
		"`taskAssignment=auto`.")
	MaxInputFiles = positive(Statement|Batch, "maxInputFilesPerWorker", 10_000, "Maximum number of files or segments that one worker "+
		"reads. Tasks: no limit.")

	FinalizeAggregations = boolean(SQL|Statement, "finalizeAggregations", true, "False stores the states of aggregates instead of their "+
		"results.")
	ArrayIngestMode = enum(Statement, "arrayIngestMode", "ArrayIngestMode", "`mvd` stores arrays of strings as multi-value "+
		"strings.", "array", "mvd")
	JoinAlgorithm = choice(Statement|CheckedBySQL, "sqlJoinAlgorithm", "Expected key [sqlJoinAlgorithm] to be one of [broadcast, "+
		"sortMerge], but got [%s]",
		"Join algorithm.", "broadcast", "sortMerge")

	RowsPerSegment = positive(Statement, "rowsPerSegment", 3_000_000, "Maximum number of rows of a segment.")
	MaxNumSegments = positive(Statement|Batch, "maxNumSegments", 0, "Maximum number of segments of a time chunk.")
	MaxPartitions  = positive(Statement|Batch, "maxPartitions", 25_000, "Maximum number of output partitions of a stage. Tasks: no limit.")
	MaxClusteredBy = positive(Statement|Batch, "maxClusteredByColumns", 1500, "Maximum number of columns in `CLUSTERED BY`. Tasks: "+
		"no limit.")
	RowsInMemory     = positive(Statement, "rowsInMemory", 100_000, "Older name of `maxRowsInMemory`.")
	MaxRowsInMemory  = positive(Statement, "maxRowsInMemory", 100_000, "Shown in specifications. The memory budget limits the rows in memory.")
	SegmentSortOrder = names(Statement, "segmentSortOrder", "Columns by which segments are sorted.")
	SortByTime       = boolean(Statement, "forceSegmentSortByTime", true, "Sort segments by `__time` first. False sorts by `segmentSortOrder` alone.")
	IndexSpec        = object(Statement, "indexSpec", "Encoding of the columns of segments, as in the tuningConfig of native tasks.")
	AutoColumns      = boolean(Statement, "useAutoColumnSchemas", false, "Dimensions in the dataSchema of the task have the type `auto`; "+
		"the segments do not change.")
	SkipTypes = mixed(Statement, "list of names", "skipTypeVerification", "",
		"Columns that may contain both arrays and multi-value strings.")

	FailOnEmptyInsert  = boolean(Statement|Batch, "failOnEmptyInsert", false, "Fail if the statement or task produces no rows.")
	WaitUntilLoad      = boolean(Statement, "waitUntilSegmentsLoad", false, "The task ends only when its segments have been loaded.")
	MaxParseExceptions = long(Statement, "maxParseExceptions", 0, "Maximum number of unparseable rows that are skipped before the task "+
		"fails; -1: no limit. "+
		"The default with `mode=nonStrict` is -1.")
	Mode = choice(Statement, "mode", "%s is an unknown multi stage query mode. Acceptable modes: [nonStrict, strict]",
		"`strict` fails at unparseable rows, `nonStrict` skips them.", "strict", "nonStrict")
	RemoveNullBytes = boolean(Statement, "removeNullBytes", false, "Remove zero bytes from strings. With false, such strings are errors.")

	SegmentSource = enum(Statement, "includeSegmentSource", "SegmentSource", "`REALTIME` also reads unpublished rows of streaming tasks, "+
		"except rows of the table that the statement writes.", "NONE", "REALTIME")
	Destination = enum(Statement, "selectDestination", "MSQSelectDestination", "`durableStorage` writes results as pages to deep storage.",
		"taskReport", "durableStorage")
	RowsPerPage   = positive(Statement, "rowsPerPage", 100_000, "Rows of a page of results.")
	MaxFrameSize  = positive(Statement|Batch, "maxFrameSize", 1_000_000, "Maximum size of a row in bytes. Tasks: no limit.")
	MaxThreads    = positive(Statement|Batch, "maxThreads", 0, "Maximum number of threads of a worker.")
	MaxWindowRows = positive(Statement, "maxRowsMaterializedInWindow", 0, "Maximum number of rows of a window partition. By default, "+
		"memory is the limit.")
	AllCounters    = boolean(Statement, "includeAllCounters", true, "Include the counters of all workers and stages in reports.")
	Deadline       = text(Statement, "queryDeadline", "", "Time in ISO 8601 at which the task fails.")
	TargetPerWork  = positive(Statement|Batch, "targetPartitionsPerWorker", 1, "Number of partitions of a hash shuffle per worker.")
	ParallelStages = positive(Statement|Batch, "maxConcurrentStages", 1, "Maximum number of stages that run at the same time.")
	FaultTolerance = boolean(Statement|Batch, "faultTolerance", false, "Restart workers that failed for a temporary reason. "+
		"Implies `durableShuffleStorage`.")
	DurableShuffle = boolean(Statement|Batch, "durableShuffleStorage", false, "Keep intermediate data in deep storage.")

	TaskLockType = text(Statement|Batch, "taskLockType", "", "Type of the lock: `SHARED`, `EXCLUSIVE`, `APPEND` or `REPLACE`. "+
		"The default depends on the task and on `useConcurrentLocks`.")
	ConcurrentLocks = boolean(Statement|Batch, "useConcurrentLocks", false, "Use locks that allow other tasks to append at the same time.")
	SharedLock      = boolean(Batch, "useSharedLock", false, "Tasks that read streams: use locks that other appending tasks can share.")
	StoreCompaction = boolean(Statement|Batch, "storeCompactionState", false, "`REPLACE`: store the compaction state in segments.")
)
