package config

// Accepted are settings of Druid that have no effect in Henge. They are accepted so that a
// properties file of Druid can be used unchanged, and a process logs them at startup.
var Accepted = []Property{
	{Key: "service.router.avatica.balancer.type", Kind: Text, Default: "rendezvousHash", Doc: "There is one way to choose a Broker."},
	{Key: "service.router.http.numConnections", Kind: Int, Default: "20", Doc: "There are as many connections as requests."},
	{Key: "service.router.http.numMaxThreads", Kind: Int, Default: "0", Doc: "Requests do not use threads."},
	{Key: "service.router.http.numRequestsQueued", Kind: Int, Default: "1024", Doc: "Requests do not wait for connections."},
	{Key: "service.router.http.requestBuffersize", Kind: Int, Default: "8192", Doc: "Bodies are streamed."},

	{Key: "service.manager.segments.pollDuration", Kind: Duration, Default: "PT1M",
		Doc: "Processes are notified of changes and do not poll."},
	{Key: "service.manager.rules.pollDuration", Kind: Duration, Default: "PT1M", Doc: "As above."},
	{Key: "service.manager.config.pollDuration", Kind: Duration, Default: "PT1M", Doc: "As above."},
	{Key: "service.coordinator.kill.compaction.durationToRetain", Kind: Duration, Default: "P90D",
		Doc: "Compaction settings of datasources without segments are deleted at once, as in Druid."},
	{Key: "service.coordinator.kill.pendingSegments.durationToRetain", Kind: Duration, Default: "P1D",
		Doc: "Allocated ids are deleted a day after the oldest task that may have them."},
	{Key: "service.coordinator.loadqueuepeon.http.batchSize", Kind: Int, Default: "1",
		Doc: "Historicals receive the whole list of segments to load, in order."},
	{Key: "service.coordinator.loadqueuepeon.http.repeatDelay", Kind: Duration, Default: "PT1M", Doc: "As above."},

	{Key: "service.segmentCache.deleteOnRemove", Kind: Bool, Default: "true", Doc: "Files of dropped segments are deleted."},
	{Key: "service.segmentCache.dropSegmentDelayMillis", Kind: Int, Default: "30000",
		Doc: "Files are deleted when the last query that reads them has ended."},
	{Key: "service.segmentCache.infoDir", Kind: Text, Doc: "The cache contains a file with its contents."},
	{Key: "service.segmentCache.announceIntervalMillis", Kind: Int, Default: "5000",
		Doc: "All segments are announced at once at the start."},
	{Key: "service.segmentCache.lazyLoadOnStart", Kind: Bool, Default: "false",
		Doc: "Segments are mapped at their first use in any case."},

	{Key: "service.lookup.lookupTierIsDatasource", Kind: Bool, Default: "false", Doc: "Tiers are named by `service.lookup.lookupTier`."},
	{Key: "service.lookup.enableLookupSyncOnStartup", Kind: Bool, Default: "true",
		Doc: "A process loads its lookups before it accepts queries."},
	{Key: "service.audit.manager.skipNullField", Kind: Bool, Default: "false", Doc: "Payloads are kept unchanged."},
	{Key: "service.audit.manager.auditSystemRequests", Kind: Bool, Default: "true", Doc: "Requests between processes are not audited."},
	{Key: "service.emitter.prometheus.addServiceAsLabel", Kind: Bool, Default: "false", Doc: "The label `service` is always present."},

	{Key: "service.realtime.cache.useCache", Kind: Bool, Default: "false", Doc: "Unpublished rows are not cached."},
	{Key: "service.realtime.cache.populateCache", Kind: Bool, Default: "false", Doc: "As above."},
	{Key: "service.realtime.cache.unCacheable", Kind: List, Default: "[\"scan\"]", Doc: "As above."},
	{Key: "service.realtime.cache.maxEntrySize", Kind: Bytes, Default: "1000000", Doc: "As above."},
	{Key: "service.broker.segment.awaitInitializationOnStart", Kind: Bool, Default: "true",
		Doc: "A Broker accepts queries only when it knows the published timeline."},
	{Key: "service.broker.retryPolicy.numTries", Kind: Int, Default: "1",
		Doc: "If a server fails, the Broker queries all others that hold the segment."},

	{Key: "service.server.http.maxScatterGatherBytes", Kind: Bytes, Default: "9223372036854775807",
		Doc: "Results that wait to be merged are part of the memory of their query, and spill."},
	{Key: "service.server.http.maxSubqueryRows", Kind: Int, Default: "100000", Doc: "As above."},
}
