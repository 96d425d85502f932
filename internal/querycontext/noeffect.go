package querycontext

// Parameters that are accepted without effect. Code that reads one has to move it to params.go.
var (
	MergeMode = enum(0, "clusterStatisticsMergeMode", "ClusterStatisticsMergeMode",
		"Statements check it. There is only one way to merge statistics.", "SEQUENTIAL", "PARALLEL", "AUTO")
	BackgroundFetch  = boolean(0, "backgroundFetchExternalFiles", true, "Statements check it. Files are always prefetched.")
	ForceTimeChunk   = boolean(Server, "forceTimeChunkLock", true, "In tasks. Locks always cover time chunks.")
	LineageAllocator = boolean(Server, "useLineageBasedSegmentAllocation", true, "In tasks. Allocation always uses the lineage.")

	Reindex   = boolean(0, "isReindex", false, "Statements check it.")
	Vectorize = mixed(0, "true/false, `force`", "vectorize", "true", "SQL and native queries check it. Execution is always vectorized.")

	MaxNumericInFilters = integer(CheckedBySQL, "maxNumericInFilters", -1, "Must not be 0. Lists of numbers can have any length.")
)

func init() {
	const doc = "SQL checks the type."
	for _, key := range []string{"useLexicographicTopN", "enableUnnest", "windowsAreForClosers", "secondaryPartitionPruning", "forceLimitPushDown",
		"applyLimitPushDownToSegment", "groupByIsSingleThreaded", "forceHashAggregation", "forcePushDownNestedQuery", "mergeThreadLocal",
		"enableJoinFilterPushDown", "enableJoinFilterRewrite", "enableJoinFilterRewriteValueColumnFilters", "enableRewriteJoinToFilter",
		"enableJoinLeftTableScanDirect", "computeInnerJoinCostAsFilter", "useNestedForUnknownTypeInSubquery", "useFilterCNF", "setProcessingThreadNames"} {
		accepted(boolean(CheckedBySQL, key, false, doc))
	}
	for _, key := range []string{"plannerStrategy", "postProcessing"} {
		accepted(text(CheckedBySQL, key, "", doc))
	}
	for _, key := range []string{"inFunctionThreshold", "vectorSize", "numRetriesOnMissingSegments", "maxResults", "maxIntermediateRows",
		"bufferGrouperInitialBuckets", "numParallelCombineThreads", "intermediateCombineDegree"} {
		accepted(integer(CheckedBySQL, key, 0, doc))
	}
	for _, key := range []string{"maxScatterGatherBytes", "maxQueuedBytes", "joinFilterRewriteMaxSize"} {
		accepted(long(CheckedBySQL, key, 0, doc))
	}
	accepted(number(CheckedBySQL, "bufferGrouperMaxLoadFactor", 0, doc))
}

// accepted drops the default from the documentation, since it has no effect.
func accepted[T any](p *Param[T]) { p.shown = "" }
