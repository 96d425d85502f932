package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ofTheInterface are the properties that the interface and the pages about clusters name, but for
// those of authentication and TLS.
const ofTheInterface = `
	service.host
	service.bindOnHost
	service.plaintextPort
	service.labels
	service.enablePlaintextPort
	service.service
	service.coordinator.asOverlord.enabled
	service.server.hiddenProperties
	service.router.defaultBrokerServiceName
	service.router.tierToBrokerMap
	service.router.defaultRule
	service.router.pollPeriod
	service.router.strategies
	service.router.sql.enable
	service.router.avatica.balancer.type
	service.router.http.numConnections
	service.router.http.readTimeout
	service.router.http.numMaxThreads
	service.router.http.numRequestsQueued
	service.router.http.requestBuffersize
	service.router.http.clientConnectTimeout
	service.router.managementProxy.enabled
	service.query.segmentMetadata.defaultHistory
	service.manager.segments.pollDuration
	service.manager.rules.pollDuration
	service.manager.config.pollDuration
	service.manager.lookups.period
	service.coordinator.kill.on
	service.coordinator.kill.period
	service.coordinator.kill.durationToRetain
	service.coordinator.kill.ignoreDurationToRetain
	service.coordinator.kill.bufferPeriod
	service.coordinator.kill.maxSegments
	service.coordinator.kill.maxInterval
	service.coordinator.kill.supervisor.on
	service.coordinator.kill.supervisor.period
	service.coordinator.kill.supervisor.durationToRetain
	service.coordinator.kill.audit.on
	service.coordinator.kill.audit.period
	service.coordinator.kill.audit.durationToRetain
	service.coordinator.kill.rule.on
	service.coordinator.kill.rule.period
	service.coordinator.kill.rule.durationToRetain
	service.coordinator.kill.datasource.on
	service.coordinator.kill.datasource.period
	service.coordinator.kill.datasource.durationToRetain
	service.coordinator.kill.compaction.on
	service.coordinator.kill.compaction.period
	service.coordinator.kill.compaction.durationToRetain
	service.coordinator.kill.pendingSegments.on
	service.coordinator.kill.pendingSegments.period
	service.coordinator.kill.pendingSegments.durationToRetain
	service.coordinator.period
	service.coordinator.startDelay
	service.coordinator.period.indexingPeriod
	service.coordinator.period.metadataStoreManagementPeriod
	service.coordinator.dutyGroups
	service.coordinator.x.duties
	service.coordinator.x.period
	service.coordinator.balancer.strategy
	service.coordinator.load.timeout
	service.coordinator.loadqueuepeon.http.batchSize
	service.coordinator.loadqueuepeon.http.repeatDelay
	service.segmentCache.locations
	service.segmentCache.locationSelector.strategy
	service.segmentCache.deleteOnRemove
	service.segmentCache.dropSegmentDelayMillis
	service.segmentCache.infoDir
	service.segmentCache.numLoadingThreads
	service.segmentCache.numBootstrapThreads
	service.segmentCache.announceIntervalMillis
	service.segmentCache.lazyLoadOnStart
	service.server.maxSize
	service.server.tier
	service.server.priority
	service.lookup.lookupTier
	service.lookup.lookupTierIsDatasource
	service.lookup.enableLookupSyncOnStartup
	service.audit.manager.type
	service.audit.manager.auditHistoryMillis
	service.audit.manager.maxPayloadSizeBytes
	service.audit.manager.skipNullField
	service.audit.manager.auditSystemRequests
	service.emitter
	service.monitoring.emissionPeriod
	service.emitter.prometheus.strategy
	service.emitter.prometheus.port
	service.emitter.prometheus.namespace
	service.emitter.prometheus.addHostAsLabel
	service.emitter.prometheus.addServiceAsLabel
	service.emitter.prometheus.extraLabels
	service.emitter.prometheus.dimensionMapPath
	service.emitter.prometheus.flushPeriod
	service.historical.cache.useCache
	service.historical.cache.populateCache
	service.historical.cache.unCacheable
	service.historical.cache.maxEntrySize
	service.broker.cache.useCache
	service.broker.cache.populateCache
	service.broker.cache.unCacheable
	service.broker.cache.maxEntrySize
	service.broker.cache.useResultLevelCache
	service.broker.cache.populateResultLevelCache
	service.broker.cache.resultLevelCacheLimit
	service.realtime.cache.useCache
	service.realtime.cache.populateCache
	service.realtime.cache.unCacheable
	service.realtime.cache.maxEntrySize
	service.cache.type
	service.cache.sizeInBytes
	service.cache.expireAfter
	service.broker.select.tier
	service.broker.select.tier.custom.priorities
	service.broker.balancer.type
	service.broker.segment.watchedTiers
	service.broker.segment.ignoredTiers
	service.broker.segment.watchedDataSources
	service.broker.segment.watchRealtimeTasks
	service.broker.segment.awaitInitializationOnStart
	service.broker.retryPolicy.numTries
	service.query.scheduler.numThreads
	service.query.scheduler.laning.strategy
	service.query.scheduler.laning.maxLowPercent
	service.query.scheduler.laning.lanes.reports
	service.query.scheduler.laning.isLimitPercent
	service.query.scheduler.prioritization.strategy
	service.query.scheduler.prioritization.periodThreshold
	service.query.scheduler.prioritization.durationThreshold
	service.query.scheduler.prioritization.segmentCountThreshold
	service.query.scheduler.prioritization.segmentRangeThreshold
	service.query.scheduler.prioritization.adjustment
	service.server.http.numThreads
	service.server.http.maxIdleTime
	service.server.http.defaultQueryTimeout
	service.server.http.maxQueryTimeout
	service.server.http.maxRequestHeaderSize
	service.server.http.enableRequestLimit
	service.server.http.gracefulShutdownTimeout
	service.server.http.maxScatterGatherBytes
	service.server.http.maxSubqueryRows
	service.server.http.errorFormat
	service.server.http.enableForwardedRequestCustomizer
	service.extensions.loadList
	service.indexer.queue.maxSize
	service.indexer.storage.recentlyFinishedThreshold
	service.indexer.logs.kill.enabled
	service.indexer.logs.kill.durationToRetain
	service.ingestion.http.allowedProtocols
	service.export.storage.baseDir
	service.export.storage.s3.allowedExportPaths
	service.msq.intermediate.storage.enable
	service.query.default.context.timeout
	service.sql.enable
	service.sql.planner.sqlTimeZone
`

// Every property of the interface is taken, and either does something or is documented as doing
// nothing.
func TestPropertiesOfTheInterfaceAreTaken(t *testing.T) {
	for key := range strings.FieldsSeq(ofTheInterface) {
		p := find(key)
		if p == nil {
			t.Errorf("%s is unknown", key)
			continue
		}
		idle := slices.ContainsFunc(Accepted, func(a Property) bool { return a.Key == p.Key })
		if idle == slices.ContainsFunc(Properties, func(a Property) bool { return a.Key == p.Key }) {
			t.Errorf("%s is, or is not, in both lists", key)
		}
		value := p.Default
		if value == "" {
			value = map[Kind]string{Text: "x", Int: "1", Duration: "PT1S", Bool: "true", Bytes: "1", List: "[]", JSON: "{}"}[p.Kind]
		}
		s, err := Load(Sources{Flags: []string{key + "=" + value}})
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if got := s.Idle(); idle != (len(got) == 1 && got[0] == key) {
			t.Errorf("%s: set without effect are %v", key, got)
		}
	}
}

// What would make somebody believe that a server is protected is not taken without effect.
func TestSettingsOfSecurityAreNotTakenWithoutEffect(t *testing.T) {
	for _, p := range Accepted {
		for _, part := range []string{"auth", "escalator", "tls", "https", "ssl"} {
			if strings.Contains(strings.ToLower(p.Key), part) {
				t.Errorf("%s", p.Key)
			}
		}
	}
}

func TestLocationsOfTheSegmentCacheAreDirectoriesWithSizes(t *testing.T) {
	for text, want := range map[string]string{
		`[{"path":"/x","maxSize":1000}]`: "[{/x 1000 0}] 1000", `[{"path":"/x","maxSize":"2KB","freeSpacePercent":1.5}]`: "[{/x 2000 1.5}] 2000",
		`[{"path":"/x"}]`: "[{/x 0 0}] 300000000000", `[{"path":"/x","maxSize":1},{"path":"/y"}]`: "[{/x 1 0} {/y 0 0}] 300000000000",
		`[{"path":"/x","maxSize":1000},{"path":"/y","maxSize":"5"}]`: "[{/x 1000 0} {/y 5 0}] 1005", `[]`: "[] 300000000000",
		`[{"path":"/x"},{"maxSize":1}]`: "[path] is missing in location [1]", `{"path":"/x"}`: "is not a list of",
		`[{"path":"/x"},{"path":"/y/../x/"}]`:        "path [/y/../x/] occurs twice",
		`[{"path":"/x","maxSize":"much"}]`:           "value [much] of [maxSize] in location [0] of setting [service.segmentCache.locations]",
		`[{"path":"/x","freeSpacePercent":100.5}]`:   "value [100.5] of [freeSpacePercent] in location [0]",
		`[{"path":"/x","freeSpacePercent":"ample"}]`: "is not a list of",
	} {
		s, err := Load(Sources{Flags: []string{"service.segmentCache.locations=" + text}})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got := fmt.Sprint(s.Locations(), " ", s.Bytes("service.server.maxSize", 0)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	s, err := Load(Sources{Flags: []string{`service.segmentCache.locations=[{"path":"/x","maxSize":1000}]`, "service.server.maxSize=5"}})
	if err != nil || s.Bytes("service.server.maxSize", 0) != 5 {
		t.Errorf("the size of its own is %v, %v", s, err)
	}
	_, err = Load(Sources{Flags: []string{`service.segmentCache.locations=[{"path":"/x"}]`, "service.segmentCache.directory=/y"}})
	if err == nil || !strings.Contains(err.Error(), "both say where the segment cache is") {
		t.Errorf("two places: %v", err)
	}
}
