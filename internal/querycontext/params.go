package querycontext

import "math"

// Parameters of queries.
var (
	QueryID = text(Native|Statement, "queryId", "", "Id of a native query; otherwise a random one. Cancels and logs name it.")
	Timeout = long(SQL|Native|Statement|CheckedBySQL, "timeout", 0, "Milliseconds after which the query fails; 0: never. "+
		"The default of SQL and native queries is `service.server.http.defaultQueryTimeout`.")
	Priority = integer(SQL|Native|Statement|Batch|Router|CheckedBySQL, "priority", 0, "Queries of a higher priority get the cores first, and "+
		"tasks of a higher priority start first. The default of tasks depends on their type: 50 for batch tasks.")
	Lane  = text(SQL|Native|CheckedBySQL, "lane", "", "Lane of the query, with `service.query.scheduler.laning.strategy=manual`.")
	Cache = boolean(SQL|Native|CheckedByNative, "useCache", true, "Read the groups of single segments from the cache.")
	Fill  = boolean(SQL|Native|CheckedByNative, "populateCache", true, "Write the groups of single segments to the cache.")

	ResultCache     = boolean(SQL|Native, "useResultLevelCache", true, "Read the result from the cache of results.")
	FillResultCache = boolean(SQL|Native, "populateResultLevelCache", true, "Write the result to the cache of results.")
	CloneQueryMode  = text(SQL|Native, "cloneQueryMode", "excludeClones", "Whether clones are read: `excludeClones`, `includeClones` "+
		"(as other servers), `preferClones` (where a clone holds a segment, only clones).")
	RealtimeSegmentsOnly = boolean(SQL|Native, "realtimeSegmentsOnly", false, "Read only segments that are not published.")
	RealtimeSegmentsMode = text(SQL|Native, "realtimeSegmentsMode", "include", "`exclusive` is `realtimeSegmentsOnly`; otherwise `include` or `exclude`.")
	UncoveredIntervals   = integer(SQL|Native|CheckedBySQL, "uncoveredIntervalsLimit", 0,
		"How many of the intervals that are read and have no segments the header `X-Service-Response-Context` names.")
	BrokerService   = text(Router, "brokerService", "", "Service name of the Brokers that run the query, with the strategy `manual` of the Router.")
	MultiValueGroup = boolean(SQL|Native|CheckedByNative, "groupByEnableMultiValueUnnesting", true,
		"False refuses to group rows by a multi-value string with several values.")
	SkipEmptyBuckets = boolean(SQL|Native|Explain, "skipEmptyBuckets", false, "Omit time buckets without rows. In SQL the default is true.")
	Finalize         = boolean(SQL|Native|Explain|CheckedBySQL|CheckedByNative, "finalize", true,
		"False returns the states of sketches in place of their estimates.")
)

// Parameters of SQL queries.
var (
	SQLQueryID = text(SQL|Statement, "sqlQueryId", "", "Id of a SQL query; otherwise a random one. Cancels and logs name it.")
	Engine     = text(SQL, "engine", "native", "Only `native` runs at the endpoint of SQL queries.")
	SQLZone    = mixed(SQL|Statement, "text", "sqlTimeZone", "UTC", "Time zone of the statement, such as `Europe/Berlin`. "+
		"The default is `service.sql.planner.sqlTimeZone`.")
	SQLNow          = text(SQL|Statement, "sqlCurrentTimestamp", "", "Time of `CURRENT_TIMESTAMP`, as ISO 8601; otherwise the time of arrival.")
	SQLOuterLimit   = long(SQL|Statement, "sqlOuterLimit", -1, "Most rows of the result; -1: any number.")
	StringifyArrays = boolean(SQL|Statement|CheckedBySQL, "sqlStringifyArrays", true, "Write arrays as the JSON text of an array. False writes JSON arrays.")
	ErrorAsRow      = boolean(SQL, "writeExceptionBodyAsResponseRow", false, "Write an error that occurs behind the first rows as a row.")

	ApproximateDistinct = boolean(SQL|Statement, "useApproximateCountDistinct", true, "`COUNT(DISTINCT x)` is an estimate.")
	FinalizeSketches    = boolean(SQL|Statement, "sqlFinalizeOuterSketches", false, "Return the estimates of sketches in place of the sketches.")
	MaxSubqueryRows     = integer(SQL|CheckedBySQL, "maxSubqueryRows", 0, "Refuse joins with more rows on the right side; 0: any number.")
	MaxSubqueryBytes    = add(SQL, "long, `auto`, `disabled`, `unlimited`", "maxSubqueryBytes", 0, "auto",
		"The same in bytes; the names set no limit.", readByteLimit)
)

// Parameters of native queries.
var (
	BySegment  = boolean(Native|CheckedByNative, "bySegment", false, "Return the answer of each segment.")
	GrandTotal = boolean(Native|CheckedBySQL|CheckedByNative, "grandTotal", false, "timeseries: append a row over all buckets.")
	ArrayRows  = boolean(Native|CheckedByNative, "resultAsArray", false, "groupBy: rows are arrays in place of objects.")
	LongTimes  = boolean(Native|CheckedByNative, "serializeDateTimeAsLong", false, "Write times as milliseconds in place of ISO 8601.")
	SortByDims = boolean(Native|CheckedBySQL|CheckedByNative, "sortByDimsFirst", false, "groupBy: sort by dimensions before time.")
	TimeResult = mixed(Native, "text", "timestampResultField", "", "timeseries, groupBy: name of a member that has the time, too. SQL refuses it.")
	Fudge      = mixed(Native, "text", "fudgeTimestamp", "", "groupBy: time of rows with granularity `all`.")
	GroupBy    = text(Native|CheckedBySQL, "groupByStrategy", "", "groupBy: `v1` or `v2`, which mean the same; native queries refuse other text.")
)

// Parameters of EXPLAIN PLAN FOR: they choose the native query that is shown, and change no result.
var (
	NativeExplain   = boolean(Explain|CheckedBySQL, "useNativeQueryExplain", true, "Show native queries. False shows a tree.")
	ApproximateTopN = boolean(Explain|CheckedBySQL, "useApproximateTopN", true, "Show topN queries.")
	GroupingSets    = boolean(Explain|CheckedBySQL, "useGroupingSetForExactDistinct", false, "Show several exact counts as grouping sets.")
	TimeBoundary    = boolean(Explain|CheckedBySQL, "enableTimeBoundaryPlanning", false, "Show timeBoundary queries.")
	ExpressionsOnly = boolean(Explain|CheckedBySQL, "forceExpressionVirtualColumns", false, "Show virtual columns as expressions only.")
	BoundFilters    = boolean(Explain, "sqlUseBoundAndSelectors", false, "Show filters of types bound and selector.")
	InSubQuery      = integer(Explain|CheckedBySQL, "inSubQueryThreshold", math.MaxInt32, "Show lists of that many values as a join.")
)

// Parameters that the server sets.
var (
	ResultGrain      = mixed(Server, "text", "timestampResultFieldGranularity", "", "Granularity of `timestampResultField`; SQL refuses it.")
	ResultIndex      = mixed(Server, "integer", "timestampResultFieldInOriginalDimensions", "", "Position of `timestampResultField`; SQL refuses it.")
	InsertGrain      = text(Server, "sqlInsertSegmentGranularity", "", "From `PARTITIONED BY`; users can't set it.")
	ReplacedChunks   = text(Server, "sqlReplaceTimeChunks", "", "From `OVERWRITE`; users can't set it.")
	ResultFormat     = text(Server, "__resultFormat", "", "Reserved; users can't set it.")
	User             = text(Server, "__user", "", "The user of a statement; users can't set it.")
	CompactionReason = text(Server, "compactionReason", "", "On tasks of automatic compaction: why they run.")
)

// Parameters of statements that run as tasks.
var (
	ExecutionMode = mixed(Statement, "`ASYNC`", "executionMode", "", "Needed by `/service/v2/sql/statements`.")
	NumTasks      = integer(Statement, "numTasks", 2, "Older name of `maxNumTasks`.")
	MaxNumTasks   = integer(Statement, "maxNumTasks", 2, "One controller and the workers of a stage, at least 2.")
	Assignment    = enum(Statement, "taskAssignment", "WorkerAssignmentStrategy", "`auto` uses only as many workers as the input needs.", "max", "auto")
	MaxInputBytes = positiveLong(Statement, "maxInputBytesPerWorker", 512<<20, "Bytes of input for each worker, with `taskAssignment=auto`.")
	MaxInputFiles = positive(Statement|Batch, "maxInputFilesPerWorker", 10_000, "Files or segments that one worker may read. Tasks: no limit.")

	FinalizeAggregations = boolean(SQL|Statement, "finalizeAggregations", true, "False stores the states of aggregates in place of their results.")
	ArrayIngestMode      = enum(Statement, "arrayIngestMode", "ArrayIngestMode", "`mvd` stores arrays of strings as multi-value strings.", "array", "mvd")
	JoinAlgorithm        = choice(Statement|CheckedBySQL, "sqlJoinAlgorithm", "Expected key [sqlJoinAlgorithm] to be one of [broadcast, sortMerge], but got [%s]",
		"How joins run.", "broadcast", "sortMerge")

	RowsPerSegment   = positive(Statement, "rowsPerSegment", 3_000_000, "Most rows of a segment.")
	MaxNumSegments   = positive(Statement|Batch, "maxNumSegments", 0, "Most segments of a time chunk.")
	MaxPartitions    = positive(Statement|Batch, "maxPartitions", 25_000, "Most partitions of a stage's output. Tasks: no limit.")
	MaxClusteredBy   = positive(Statement|Batch, "maxClusteredByColumns", 1500, "Most columns of `CLUSTERED BY`. Tasks: no limit.")
	RowsInMemory     = positive(Statement, "rowsInMemory", 100_000, "Older name of `maxRowsInMemory`.")
	MaxRowsInMemory  = positive(Statement, "maxRowsInMemory", 100_000, "Shown in specs. The memory budget bounds what is held.")
	SegmentSortOrder = names(Statement, "segmentSortOrder", "Columns by which segments are sorted.")
	SortByTime       = boolean(Statement, "forceSegmentSortByTime", true, "Sort segments by `__time` first. False sorts by `segmentSortOrder` alone.")
	IndexSpec        = object(Statement, "indexSpec", "How columns of segments are written, as in the tuning of native tasks.")
	AutoColumns      = boolean(Statement, "useAutoColumnSchemas", false, "Dimensions of the task's dataSchema have the type `auto`; segments are the same.")
	SkipTypes        = mixed(Statement, "list of names", "skipTypeVerification", "",
		"Columns in which arrays and multi-value strings may be mixed.")

	FailOnEmptyInsert  = boolean(Statement|Batch, "failOnEmptyInsert", false, "Fail if there are no rows.")
	WaitUntilLoad      = boolean(Statement, "waitUntilSegmentsLoad", false, "The task ends when its segments are loaded.")
	MaxParseExceptions = long(Statement, "maxParseExceptions", 0, "How many rows that can't be parsed are skipped before the task fails; -1: any number. "+
		"The default with `mode=nonStrict` is -1.")
	Mode = choice(Statement, "mode", "%s is an unknown multi stage query mode. Acceptable modes: [nonStrict, strict]",
		"Whether rows that can't be parsed are refused.", "strict", "nonStrict")
	RemoveNullBytes = boolean(Statement, "removeNullBytes", false, "Remove zero bytes from strings. False fails.")

	SegmentSource = enum(Statement, "includeSegmentSource", "SegmentSource", "`REALTIME` also reads rows of streaming tasks that are not "+
		"published yet, but not those of the table that is written.", "NONE", "REALTIME")
	Destination = enum(Statement, "selectDestination", "MSQSelectDestination", "`durableStorage` keeps results as pages in deep storage.",
		"taskReport", "durableStorage")
	RowsPerPage    = positive(Statement, "rowsPerPage", 100_000, "Rows of a page of results.")
	MaxFrameSize   = positive(Statement|Batch, "maxFrameSize", 1_000_000, "Most bytes of a row. Tasks: no limit.")
	MaxThreads     = positive(Statement|Batch, "maxThreads", 0, "Most threads of a worker.")
	MaxWindowRows  = positive(Statement, "maxRowsMaterializedInWindow", 0, "Most rows of a partition of a window; unset: what fits in memory.")
	AllCounters    = boolean(Statement, "includeAllCounters", true, "Reports have the counters of all workers and stages.")
	Deadline       = text(Statement, "queryDeadline", "", "Time as ISO 8601 at which the task fails.")
	TargetPerWork  = positive(Statement|Batch, "targetPartitionsPerWorker", 1, "Partitions of a hash shuffle for each worker.")
	ParallelStages = positive(Statement|Batch, "maxConcurrentStages", 1, "How many stages run at once.")
	FaultTolerance = boolean(Statement|Batch, "faultTolerance", false, "Run workers again that failed for a reason that may pass. "+
		"Implies `durableShuffleStorage`.")
	DurableShuffle = boolean(Statement|Batch, "durableShuffleStorage", false, "Keep intermediate data in deep storage.")

	TaskLockType = text(Statement|Batch, "taskLockType", "", "Type of the lock: `SHARED`, `EXCLUSIVE`, `APPEND` or `REPLACE`. "+
		"The default depends on the task and on `useConcurrentLocks`.")
	ConcurrentLocks = boolean(Statement|Batch, "useConcurrentLocks", false, "Take locks that let other tasks append at the same time.")
	SharedLock      = boolean(Batch, "useSharedLock", false, "Tasks that read streams: take locks that other appending tasks share.")
	StoreCompaction = boolean(Statement|Batch, "storeCompactionState", false, "`REPLACE`: store in segments how they were made.")
)
