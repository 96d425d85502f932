// Package coordinator serves the management endpoints of the Coordinator, the endpoints of the
// Overlord for segments and settings, and the datasource endpoints of the Broker: metadata, the
// served view, load status, marking segments used and unused, retention rules, dynamic settings and
// settings of automatic compaction.
//
// The central type is API. There are two views of segments. The metadata view is the published
// timeline: the used segments. The served view contains the segments of the metadata view that data
// servers hold; it comes from an Inventory. Writes go to the metastore, and their requests return
// when the published timeline contains them, so the next read sees them.
//
//	coordinator.go   Options, API, routes, leader; cluster.go: discovery
//	view.go          the served view; local.go: the servers of a single process; load.go: load status
//	                 and queue
//	metadata.go      /metadata; datasources.go, layout.go: /datasources, /intervals, /servers,
//	                 /tiers; broker.go: /service/v2/datasources
//	mark.go          used and unused, kill
//	rules.go         retention rules; audit.go: histories
//	config.go        settings of the Coordinator and the workers; compaction.go,
//	                 compaction_supervised.go: settings of automatic compaction
//	lookups.go, lookup_status.go   lookups: their configuration, and which processes have loaded them
//	duties.go        the duties of the Coordinator and their periods; why.go: explanations of the
//	                 current state; measure.go: metrics
//	security.go      users and roles; the lists are empty
//	answer.go        reading requests and writing answers
//
// Package duty/rule matches rules. The duties move segments between servers and compact them.
package coordinator
