package config

// Accepted are settings of the interface that files of the reference system have and that change
// nothing here. They are taken, so that such a file can be used as it is, and a process that starts
// with one says so.
var Accepted = []Property{
	{Key: "service.router.avatica.balancer.type", Kind: Text, Default: "rendezvousHash", Doc: "There is one way to choose a Broker."},
	{Key: "service.router.http.numConnections", Kind: Int, Default: "20", Doc: "As many connections are open as there are requests."},
	{Key: "service.router.http.numMaxThreads", Kind: Int, Default: "0", Doc: "Requests don't take threads."},
	{Key: "service.router.http.numRequestsQueued", Kind: Int, Default: "1024", Doc: "Requests don't wait for connections."},
	{Key: "service.router.http.requestBuffersize", Kind: Int, Default: "8192", Doc: "Bodies are passed on as they come."},

	{Key: "service.manager.segments.pollDuration", Kind: Duration, Default: "PT1M", Doc: "Nothing is polled: processes are told of changes."},
	{Key: "service.manager.rules.pollDuration", Kind: Duration, Default: "PT1M", Doc: "As above."},
	{Key: "service.manager.config.pollDuration", Kind: Duration, Default: "PT1M", Doc: "As above."},
	{Key: "service.coordinator.kill.compaction.durationToRetain", Kind: Duration, Default: "P90D",
		Doc: "Compaction settings of datasources without segments go at once, as in the reference."},
	{Key: "service.coordinator.kill.pendingSegments.durationToRetain", Kind: Duration, Default: "P1D",
		Doc: "Promised ids go a day after the oldest task that may have them."},
	{Key: "service.coordinator.loadqueuepeon.http.batchSize", Kind: Int, Default: "1",
		Doc: "Historicals are told of all that they are to load, in its order."},
	{Key: "service.coordinator.loadqueuepeon.http.repeatDelay", Kind: Duration, Default: "PT1M", Doc: "As above."},

	{Key: "service.segmentCache.deleteOnRemove", Kind: Bool, Default: "true", Doc: "Files of dropped segments are deleted."},
	{Key: "service.segmentCache.dropSegmentDelayMillis", Kind: Int, Default: "30000",
		Doc: "Files are deleted when the last query that reads them has ended."},
	{Key: "service.segmentCache.infoDir", Kind: Text, Doc: "What is in the cache stands in a file of it."},
	{Key: "service.segmentCache.announceIntervalMillis", Kind: Int, Default: "5000", Doc: "All segments of a start are announced at once."},
	{Key: "service.segmentCache.lazyLoadOnStart", Kind: Bool, Default: "false", Doc: "Segments are mapped at their first use in any case."},

	{Key: "service.lookup.lookupTierIsDatasource", Kind: Bool, Default: "false", Doc: "Tiers are named by `service.lookup.lookupTier`."},
	{Key: "service.lookup.enableLookupSyncOnStartup", Kind: Bool, Default: "true", Doc: "Lookups are there before a process takes queries."},
	{Key: "service.audit.manager.skipNullField", Kind: Bool, Default: "false", Doc: "Payloads are kept as they were shown."},
	{Key: "service.audit.manager.auditSystemRequests", Kind: Bool, Default: "true", Doc: "What processes do for each other is no entry."},
	{Key: "service.emitter.prometheus.addServiceAsLabel", Kind: Bool, Default: "false", Doc: "The label `service` is there in any case."},

	{Key: "service.realtime.cache.useCache", Kind: Bool, Default: "false", Doc: "Rows that are not published are not cached."},
	{Key: "service.realtime.cache.populateCache", Kind: Bool, Default: "false", Doc: "As above."},
	{Key: "service.realtime.cache.unCacheable", Kind: List, Default: "[\"scan\"]", Doc: "As above."},
	{Key: "service.realtime.cache.maxEntrySize", Kind: Bytes, Default: "1000000", Doc: "As above."},
	{Key: "service.broker.segment.awaitInitializationOnStart", Kind: Bool, Default: "true",
		Doc: "A Broker takes no query before it knows the published timeline."},
	{Key: "service.broker.retryPolicy.numTries", Kind: Int, Default: "1",
		Doc: "What a server does not give is asked of others as long as there are any."},

	{Key: "service.server.http.maxScatterGatherBytes", Kind: Bytes, Default: "9223372036854775807",
		Doc: "What waits to be merged counts in the memory of its query, and spills."},
	{Key: "service.server.http.maxSubqueryRows", Kind: Int, Default: "100000", Doc: "As above."},
}
