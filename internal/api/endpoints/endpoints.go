// Package endpoints lists the routes that processes of Henge serve.
//
// The central value is Table. A test walks the ports of all roles, of one process and of a cluster:
// a route without a row fails it, and so does a row without a route. The handlers are in the
// packages beside this one.
package endpoints

// Family groups endpoints by what they are about.
type Family string

// The families.
const (
	// SQL is synchronous SQL.
	SQL Family = "SQL"
	// Statements is asynchronous SQL with kept results.
	Statements Family = "statements"
	// SQLTasks is ingestion in SQL.
	SQLTasks Family = "SQL tasks"
	// NativeQueries is native JSON queries.
	NativeQueries Family = "native queries"
	// Sampler is a look at data before it is loaded.
	Sampler Family = "sampler"
	// Tasks is the task queue and its workers.
	Tasks Family = "tasks"
	// Push is rows that are sent over HTTP.
	Push Family = "push"
	// Supervisors is supervisors.
	Supervisors Family = "supervisors"
	// Compaction is automatic compaction.
	Compaction Family = "compaction"
	// Retention is retention rules.
	Retention Family = "retention"
	// Metadata is datasources and segments.
	Metadata Family = "metadata"
	// DataManagement is marking and deleting segments.
	DataManagement Family = "data management"
	// Lookups is lookups.
	Lookups Family = "lookups"
	// Configuration is the dynamic configuration.
	Configuration Family = "configuration"
	// Cluster is servers, tiers and leaders.
	Cluster Family = "cluster"
	// Security is users and roles.
	Security Family = "security"
	// Status is the process itself.
	Status Family = "status"
	// Proxies is what a Router passes on.
	Proxies Family = "proxies"
	// Internal is what processes ask each other; no interface.
	Internal Family = "internal"
)

// Endpoint is a route of the interface.
type Endpoint struct {
	// Pattern is as http.ServeMux reads it: method and path, under the product name of the interface.
	Pattern string
	Family  Family
}

// Table has every route, by family.
var Table = []Endpoint{
	{"DELETE /service/v2/sql", SQL},
	{"DELETE /service/v2/sql/{id}", SQL},
	{"GET /service/v2/sql/engines", SQL},
	{"GET /service/v2/sql/queries", SQL},
	{"GET /service/v2/sql/queries/{id}/reports", SQL},
	{"POST /service/v2/sql", SQL},
	{"POST /service/v2/sql/avatica", SQL},
	{"GET /service/v2/ingest/{datasource}/channels/{channel}", Push},
	{"GET /service/v2/ingest/{datasource}/config", Push},
	{"POST /service/v2/ingest/{datasource}", Push},
	{"PUT /service/v2/ingest/{datasource}/config", Push},
	{"POST /service/v2/sql/avatica-protobuf", SQL},
	{"POST /service/v2/sql/avatica-protobuf/{$}", SQL},
	{"POST /service/v2/sql/avatica/{$}", SQL},
	{"POST /service/v2/sql/{$}", SQL},

	{"DELETE /service/v2/sql/statements", Statements},
	{"DELETE /service/v2/sql/statements/{$}", Statements},
	{"DELETE /service/v2/sql/statements/{id}", Statements},
	{"GET /service/v2/sql/statements/enabled", Statements},
	{"GET /service/v2/sql/statements/{id}", Statements},
	{"GET /service/v2/sql/statements/{id}/results", Statements},
	{"POST /service/v2/sql/statements", Statements},
	{"POST /service/v2/sql/statements/{$}", Statements},

	{"DELETE /service/v2/sql/task", SQLTasks},
	{"DELETE /service/v2/sql/task/{$}", SQLTasks},
	{"GET /service/v2/sql/task/enabled", SQLTasks},
	{"POST /service/v2/sql/task", SQLTasks},
	{"POST /service/v2/sql/task/{$}", SQLTasks},

	{"DELETE /service/v2/candidates", NativeQueries},
	{"DELETE /service/v2/datasources", NativeQueries},
	{"DELETE /service/v2/{id}", NativeQueries},
	{"GET /service/v2/datasources", NativeQueries},
	{"GET /service/v2/datasources/{dataSource}", NativeQueries},
	{"GET /service/v2/datasources/{dataSource}/candidates", NativeQueries},
	{"GET /service/v2/datasources/{dataSource}/dimensions", NativeQueries},
	{"GET /service/v2/datasources/{dataSource}/metrics", NativeQueries},
	{"POST /service/v2", NativeQueries},
	{"POST /service/v2/candidates", NativeQueries},
	{"POST /service/v2/{$}", NativeQueries},
	{"POST /service/v2/{id}", NativeQueries},

	{"POST /service/indexer/v1/sampler", Sampler},

	{"GET /service/indexer/v1/completeTasks", Tasks},
	{"GET /service/indexer/v1/isLeader", Tasks},
	{"GET /service/indexer/v1/leader", Tasks},
	{"GET /service/indexer/v1/pendingTasks", Tasks},
	{"GET /service/indexer/v1/runningTasks", Tasks},
	{"GET /service/indexer/v1/scaling", Tasks},
	{"GET /service/indexer/v1/task/{id}", Tasks},
	{"GET /service/indexer/v1/task/{id}/deadLetters", Tasks},
	{"GET /service/indexer/v1/task/{id}/log", Tasks},
	{"GET /service/indexer/v1/task/{id}/reports", Tasks},
	{"GET /service/indexer/v1/task/{id}/segments", Tasks},
	{"GET /service/indexer/v1/task/{id}/status", Tasks},
	{"GET /service/indexer/v1/tasks", Tasks},
	{"GET /service/indexer/v1/totalWorkerCapacity", Tasks},
	{"GET /service/indexer/v1/waitingTasks", Tasks},
	{"GET /service/indexer/v1/worker", Tasks},
	{"GET /service/indexer/v1/worker/history", Tasks},
	{"GET /service/indexer/v1/workers", Tasks},
	{"GET /service/worker/v1/chat/{id}/{path...}", Tasks},
	{"GET /service/worker/v1/enabled", Tasks},
	{"GET /service/worker/v1/task/{id}/log", Tasks},
	{"GET /service/worker/v1/tasks", Tasks},
	{"POST /service/indexer/v1/activeLocks", Tasks},
	{"POST /service/indexer/v1/datasources/{dataSource}/shutdownAllTasks", Tasks},
	{"POST /service/indexer/v1/lockedIntervals", Tasks},
	{"POST /service/indexer/v1/lockedIntervals/v2", Tasks},
	{"POST /service/indexer/v1/task", Tasks},
	{"POST /service/indexer/v1/task/{id}/shutdown", Tasks},
	{"POST /service/indexer/v1/taskStatus", Tasks},
	{"POST /service/indexer/v1/worker", Tasks},
	{"POST /service/indexer/v1/worker/{host}/disable", Tasks},
	{"POST /service/indexer/v1/worker/{host}/enable", Tasks},
	{"POST /service/worker/v1/chat/{id}/{path...}", Tasks},
	{"POST /service/worker/v1/disable", Tasks},
	{"POST /service/worker/v1/enable", Tasks},
	{"POST /service/worker/v1/task/{id}/shutdown", Tasks},

	{"GET /service/indexer/v1/supervisor", Supervisors},
	{"GET /service/indexer/v1/supervisor/history", Supervisors},
	{"GET /service/indexer/v1/supervisor/resumeAll", Supervisors},
	{"GET /service/indexer/v1/supervisor/suspendAll", Supervisors},
	{"GET /service/indexer/v1/supervisor/terminateAll", Supervisors},
	{"GET /service/indexer/v1/supervisor/{id}", Supervisors},
	{"GET /service/indexer/v1/supervisor/{id}/health", Supervisors},
	{"GET /service/indexer/v1/supervisor/{id}/history", Supervisors},
	{"GET /service/indexer/v1/supervisor/{id}/parseErrors", Supervisors},
	{"GET /service/indexer/v1/supervisor/{id}/stats", Supervisors},
	{"GET /service/indexer/v1/supervisor/{id}/status", Supervisors},
	{"POST /service/indexer/v1/supervisor", Supervisors},
	{"POST /service/indexer/v1/supervisor/resumeAll", Supervisors},
	{"POST /service/indexer/v1/supervisor/suspendAll", Supervisors},
	{"POST /service/indexer/v1/supervisor/terminateAll", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/reset", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/resetOffsets", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/resetToLatestAndBackfill", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/resume", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/shutdown", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/suspend", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/taskGroups/handoff", Supervisors},
	{"POST /service/indexer/v1/supervisor/{id}/terminate", Supervisors},

	{"DELETE /service/coordinator/v1/config/compaction/taskslots", Compaction},
	{"DELETE /service/coordinator/v1/config/compaction/{dataSource}", Compaction},
	{"DELETE /service/indexer/v1/compaction/config/datasources/{dataSource}", Compaction},
	{"GET /service/coordinator/v1/compaction/progress", Compaction},
	{"GET /service/coordinator/v1/compaction/status", Compaction},
	{"GET /service/coordinator/v1/config/compaction", Compaction},
	{"GET /service/coordinator/v1/config/compaction/taskslots", Compaction},
	{"GET /service/coordinator/v1/config/compaction/{dataSource}", Compaction},
	{"GET /service/coordinator/v1/config/compaction/{dataSource}/history", Compaction},
	{"GET /service/indexer/v1/compaction/config/cluster", Compaction},
	{"GET /service/indexer/v1/compaction/config/datasources", Compaction},
	{"GET /service/indexer/v1/compaction/config/datasources/{dataSource}", Compaction},
	{"GET /service/indexer/v1/compaction/config/datasources/{dataSource}/history", Compaction},
	{"GET /service/indexer/v1/compaction/isSupervisorEnabled", Compaction},
	{"GET /service/indexer/v1/compaction/status/datasources", Compaction},
	{"GET /service/indexer/v1/compaction/status/datasources/{dataSource}", Compaction},
	{"POST /service/coordinator/v1/compaction/compact", Compaction},
	{"POST /service/coordinator/v1/compaction/simulate", Compaction},
	{"POST /service/coordinator/v1/config/compaction", Compaction},
	{"POST /service/coordinator/v1/config/compaction/cluster", Compaction},
	{"POST /service/coordinator/v1/config/compaction/taskslots", Compaction},
	{"POST /service/indexer/v1/compaction/config/cluster", Compaction},
	{"POST /service/indexer/v1/compaction/config/datasources/{dataSource}", Compaction},
	{"POST /service/indexer/v1/compaction/simulate", Compaction},

	{"GET /service/coordinator/v1/rules", Retention},
	{"GET /service/coordinator/v1/rules/history", Retention},
	{"GET /service/coordinator/v1/rules/{dataSource}", Retention},
	{"GET /service/coordinator/v1/rules/{dataSource}/history", Retention},
	{"POST /service/coordinator/v1/rules/{dataSource}", Retention},

	{"GET /service/coordinator/v1/datasources", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/handoffComplete", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/intervals", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}/serverview", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/loadstatus", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/segments", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/segments/{segment}", Metadata},
	{"GET /service/coordinator/v1/datasources/{dataSource}/tiers", Metadata},
	{"GET /service/coordinator/v1/intervals", Metadata},
	{"GET /service/coordinator/v1/intervals/{interval}", Metadata},
	{"GET /service/coordinator/v1/metadata/datasources", Metadata},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}", Metadata},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments", Metadata},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments/{segment}", Metadata},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/unusedSegments", Metadata},
	{"GET /service/coordinator/v1/metadata/segments", Metadata},
	{"POST /service/coordinator/v1/metadata/bootstrapSegments", Metadata},
	{"POST /service/coordinator/v1/metadata/datasources/{dataSource}/segments", Metadata},

	{"DELETE /service/coordinator/v1/datasources/{dataSource}", DataManagement},
	{"DELETE /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}", DataManagement},
	{"DELETE /service/coordinator/v1/datasources/{dataSource}/segments/{segment}", DataManagement},
	{"DELETE /service/indexer/v1/datasources/{dataSource}", DataManagement},
	{"DELETE /service/indexer/v1/datasources/{dataSource}/intervals/{interval}", DataManagement},
	{"DELETE /service/indexer/v1/datasources/{dataSource}/segments/{segment}", DataManagement},
	{"DELETE /service/indexer/v1/pendingSegments/{dataSource}", DataManagement},
	{"POST /service/coordinator/v1/datasources/{dataSource}", DataManagement},
	{"POST /service/coordinator/v1/datasources/{dataSource}/markUnused", DataManagement},
	{"POST /service/coordinator/v1/datasources/{dataSource}/markUsed", DataManagement},
	{"POST /service/coordinator/v1/datasources/{dataSource}/segments/{segment}", DataManagement},
	{"POST /service/indexer/v1/datasources/{dataSource}", DataManagement},
	{"POST /service/indexer/v1/datasources/{dataSource}/markUnused", DataManagement},
	{"POST /service/indexer/v1/datasources/{dataSource}/markUsed", DataManagement},
	{"POST /service/indexer/v1/datasources/{dataSource}/segments/{segment}", DataManagement},

	{"DELETE /service/coordinator/v1/lookups/config/{tier}", Lookups},
	{"DELETE /service/coordinator/v1/lookups/config/{tier}/{lookup}", Lookups},
	{"DELETE /service/listen/v1/lookups/{lookup}", Lookups},
	{"GET /service/coordinator/v1/lookups/config", Lookups},
	{"GET /service/coordinator/v1/lookups/config/all", Lookups},
	{"GET /service/coordinator/v1/lookups/config/{tier}", Lookups},
	{"GET /service/coordinator/v1/lookups/config/{tier}/{lookup}", Lookups},
	{"GET /service/coordinator/v1/lookups/nodeStatus", Lookups},
	{"GET /service/coordinator/v1/lookups/nodeStatus/{tier}", Lookups},
	{"GET /service/coordinator/v1/lookups/nodeStatus/{tier}/{node}", Lookups},
	{"GET /service/coordinator/v1/lookups/status", Lookups},
	{"GET /service/coordinator/v1/lookups/status/{tier}", Lookups},
	{"GET /service/coordinator/v1/lookups/status/{tier}/{lookup}", Lookups},
	{"GET /service/listen/v1/lookups", Lookups},
	{"GET /service/listen/v1/lookups/{lookup}", Lookups},
	{"GET /service/v1/lookups/introspect", Lookups},
	{"GET /service/v1/lookups/introspect/{lookup}", Lookups},
	{"GET /service/v1/lookups/introspect/{lookup}/{part}", Lookups},
	{"POST /service/coordinator/v1/lookups/config", Lookups},
	{"POST /service/coordinator/v1/lookups/config/{tier}/{lookup}", Lookups},
	{"POST /service/listen/v1/lookups/updates", Lookups},
	{"POST /service/listen/v1/lookups/{lookup}", Lookups},

	{"GET /service/coordinator/v1/broker/config", Configuration},
	{"GET /service/coordinator/v1/broker/config/history", Configuration},
	{"GET /service/coordinator/v1/config", Configuration},
	{"GET /service/coordinator/v1/config/cloneStatus", Configuration},
	{"GET /service/coordinator/v1/config/history", Configuration},
	{"GET /service/coordinator/v1/config/syncedBrokers", Configuration},
	{"POST /service/coordinator/v1/broker/config", Configuration},
	{"POST /service/coordinator/v1/config", Configuration},

	{"GET /service/broker/v1/loadstatus", Cluster},
	{"GET /service/broker/v1/readiness", Cluster},
	{"GET /service/coordinator/v1/cluster", Cluster},
	{"GET /service/coordinator/v1/cluster/{role}", Cluster},
	{"GET /service/coordinator/v1/duties", Cluster},
	{"GET /service/coordinator/v1/isLeader", Cluster},
	{"GET /service/coordinator/v1/leader", Cluster},
	{"GET /service/coordinator/v1/loadqueue", Cluster},
	{"GET /service/coordinator/v1/loadstatus", Cluster},
	{"GET /service/coordinator/v1/servers", Cluster},
	{"GET /service/coordinator/v1/servers/{server}", Cluster},
	{"GET /service/coordinator/v1/servers/{server}/segments", Cluster},
	{"GET /service/coordinator/v1/servers/{server}/segments/{segment}", Cluster},
	{"GET /service/coordinator/v1/tiers", Cluster},
	{"GET /service/coordinator/v1/tiers/{tier}", Cluster},
	{"GET /service/coordinator/v1/why", Cluster},
	{"GET /service/historical/v1/loadstatus", Cluster},
	{"GET /service/historical/v1/readiness", Cluster},
	{"GET /service/router/v1/brokers", Cluster},

	{"/service-ext/basic-security/authentication/db/{name}/{rest...}", Security},
	{"/service-ext/basic-security/authorization/db/{name}/{rest...}", Security},

	{"GET /metrics", Status},
	{"GET /status", Status},
	{"GET /status/health", Status},
	{"GET /status/metrics", Status},
	{"GET /status/properties", Status},
	{"GET /status/ready", Status},
	{"GET /status/selfDiscovered", Status},
	{"GET /status/selfDiscovered/status", Status},

	{"/", Proxies},
	{"/proxy/coordinator", Proxies},
	{"/proxy/coordinator/", Proxies},
	{"/proxy/overlord", Proxies},
	{"/proxy/overlord/", Proxies},
	{"/proxy/{rest...}", Proxies},
	{"GET /proxy/enabled", Proxies},

	{"DELETE /service-internal/v1/parts/{session}", Internal},
	{"GET /service-internal/v1/assigned", Internal},
	{"GET /service-internal/v1/live", Internal},
	{"GET /service-internal/v1/parts/{session}/outputs/{id}/{frame}", Internal},
	{"GET /service-internal/v1/published", Internal},
	{"GET /service-internal/v1/segments", Internal},
	{"GET /service-internal/v1/segments/loadCapabilities", Internal},
	{"POST /service-internal/v1/streams/checkpoint", Internal},
	{"GET /service-internal/v1/tasks", Internal},
	{"GET /service-internal/v1/tasks/{id}/deadLetters", Internal},
	{"GET /service-internal/v1/tasks/{id}/log", Internal},
	{"GET /service-internal/v1/tasks/{id}/report", Internal},
	{"POST /service-internal/v1/analyses", Internal},
	{"POST /service-internal/v1/commands", Internal},
	{"POST /service-internal/v1/fragments", Internal},
	{"POST /service-internal/v1/parts/{session}", Internal},
	{"POST /service-internal/v1/parts/{session}/run", Internal},
	{"POST /service-internal/v1/segments/changeRequests", Internal},
	{"POST /service-internal/v1/tasks", Internal},
	{"POST /service-internal/v1/tasks/end", Internal},
}
