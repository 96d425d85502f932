// Package coordinator gives the management endpoints of the Coordinator, and those of the Overlord
// that are about segments and settings (spec/cluster.md, sections 2, 3, 7, 8, 10, 14, 15 and 18):
// metadata, the served view, load status, marking segments used and unused, retention rules,
// dynamic settings, automatic compaction's settings; and the Broker's datasource endpoints (section
// 5), which answer from the same view.
//
// The central type is API. There are two views of segments. The metadata view is the published
// timeline: the used segments. The served view is what of it data servers hold, and comes from an
// Inventory. Writes go to the metastore and answer when the published timeline has them, so that
// the next read sees them.
//
//	coordinator.go   Options, API, routes, leader; cluster.go: discovery
//	view.go          the served view; local.go: the servers of a single process; load.go: load status and queue
//	metadata.go      /metadata; datasources.go, layout.go: /datasources, /intervals, /servers, /tiers; broker.go: /service/v2/datasources
//	mark.go          used and unused, kill
//	rules.go         retention rules; audit.go: histories
//	config.go        the Coordinator's and the workers' settings; compaction.go, compaction_supervised.go: automatic compaction's
//	lookups.go, lookup_status.go   lookups: what is configured, and which process has it
//	duties.go        what the Coordinator does by itself, and how often; why.go: why things are as they are; measure.go: metrics
//	security.go      users and roles, of which there are none
//	answer.go        reading requests and writing answers
//
// Matching of rules is in package duty/rule. Moving segments between servers, and compacting them,
// is the duties' work.
package coordinator
