// Package endpoints lists the routes that processes of Henge serve.
//
// The central value is Table. A test walks the ports of all roles, of a single process and of a
// cluster. It fails for a route without a row and for a row without a route. The handlers are in
// the neighbouring packages.
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
	// Uploads is files that clients send to be loaded.
	Uploads Family = "uploads"
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
	// Agents is the Model Context Protocol.
	Agents Family = "agents"
	// Status is the process itself.
	Status Family = "status"
	// Console is the web console.
	Console Family = "console"
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
	// Permission is what a request needs once security is configured.
	Permission Permission
}

// Table has every route, by family.
var Table = []Endpoint{
	{"DELETE /service/v2/sql", SQL, authenticated},
	{"DELETE /service/v2/sql/{id}", SQL, byHandler("DATASOURCE READ and all else that the query needed; its own user always")},
	{"GET /service/v2/sql/engines", SQL, authenticated},
	{"GET /service/v2/sql/queries", SQL, byHandler("own queries; STATE READ: all")},
	{"GET /service/v2/sql/queries/{id}/reports", SQL, byHandler("own queries; STATE READ: all")},
	{"POST /arrow.flight.protocol.FlightService/{method}", SQL, connection},
	{"POST /service/v2/sql", SQL, byHandler("resources of the statement")},
	{"POST /service/v2/sql/avatica", SQL, connection},
	{"POST /service/v2/sql/avatica-protobuf", SQL, connection},
	{"POST /service/v2/sql/avatica-protobuf/{$}", SQL, connection},
	{"POST /service/v2/sql/avatica/{$}", SQL, connection},
	{"POST /service/v2/sql/{$}", SQL, byHandler("resources of the statement")},

	{"GET /service/v2/ingest/{datasource}/channels/{channel}", Push, datasource},
	{"GET /service/v2/ingest/{datasource}/config", Push, datasource},
	{"POST /service/v2/ingest/{datasource}", Push, datasource},
	{"PUT /service/v2/ingest/{datasource}/config", Push, datasource},

	{"DELETE /service/v2/sql/statements", Statements, authenticated},
	{"DELETE /service/v2/sql/statements/{$}", Statements, authenticated},
	{"DELETE /service/v2/sql/statements/{id}", Statements, byHandler("own statements; STATE WRITE: all")},
	{"GET /service/v2/sql/statements/enabled", Statements, authenticated},
	{"GET /service/v2/sql/statements/{id}", Statements, byHandler("own statements; STATE READ: all")},
	{"GET /service/v2/sql/statements/{id}/results", Statements, byHandler("own statements")},
	{"POST /service/v2/sql/statements", Statements, byHandler("resources of the statement")},
	{"POST /service/v2/sql/statements/{$}", Statements, byHandler("resources of the statement")},

	{"DELETE /service/v2/sql/task", SQLTasks, authenticated},
	{"DELETE /service/v2/sql/task/{$}", SQLTasks, authenticated},
	{"GET /service/v2/sql/task/enabled", SQLTasks, authenticated},
	{"POST /service/v2/sql/task", SQLTasks, byHandler("resources of the statement")},
	{"POST /service/v2/sql/task/{$}", SQLTasks, byHandler("resources of the statement")},

	{"DELETE /service/v2/candidates", NativeQueries, authenticated},
	{"DELETE /service/v2/datasources", NativeQueries, authenticated},
	{"DELETE /service/v2/{id}", NativeQueries, byHandler("DATASOURCE WRITE of all datasources of the query; its own user always")},
	{"GET /service/v2/datasources", NativeQueries, byHandler("lists datasources with READ")},
	{"GET /service/v2/datasources/{dataSource}", NativeQueries, dataSource},
	{"GET /service/v2/datasources/{dataSource}/candidates", NativeQueries, dataSource},
	{"GET /service/v2/datasources/{dataSource}/dimensions", NativeQueries, dataSource},
	{"GET /service/v2/datasources/{dataSource}/metrics", NativeQueries, dataSource},
	{"POST /service/v2", NativeQueries, byHandler("DATASOURCE READ of all datasources of the query")},
	{"POST /service/v2/candidates", NativeQueries, state},
	{"POST /service/v2/{$}", NativeQueries, byHandler("DATASOURCE READ of all datasources of the query")},
	{"POST /service/v2/{id}", NativeQueries, authenticated},

	{"POST /service/indexer/v1/sampler", Sampler, sampled},
	{"POST /service/indexer/v1/survey", Sampler, sampled},

	{"DELETE /service/indexer/v1/uploads/{id}", Uploads, byHandler("own uploads")},
	{"GET /service/indexer/v1/uploads", Uploads, byHandler("own uploads")},
	{"POST /service/indexer/v1/uploads", Uploads, byHandler("EXTERNAL `EXTERNAL` READ; with input source security EXTERNAL `upload` READ")},

	{"GET /service/indexer/v1/completeTasks", Tasks, byHandler("lists tasks whose datasource has READ")},
	{"GET /service/indexer/v1/isLeader", Tasks, open},
	{"GET /service/indexer/v1/leader", Tasks, state},
	{"GET /service/indexer/v1/pendingTasks", Tasks, byHandler("lists tasks whose datasource has READ")},
	{"GET /service/indexer/v1/runningTasks", Tasks, byHandler("lists tasks whose datasource has READ")},
	{"GET /service/indexer/v1/scaling", Tasks, state},
	{"GET /service/indexer/v1/task/{id}", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/indexer/v1/task/{id}/deadLetters", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/indexer/v1/task/{id}/log", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/indexer/v1/task/{id}/reports", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/indexer/v1/task/{id}/segments", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/indexer/v1/task/{id}/status", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/indexer/v1/tasks", Tasks, byHandler("lists tasks whose datasource has READ")},
	{"GET /service/indexer/v1/totalWorkerCapacity", Tasks, config},
	{"GET /service/indexer/v1/waitingTasks", Tasks, byHandler("lists tasks whose datasource has READ")},
	{"GET /service/indexer/v1/worker", Tasks, config},
	{"GET /service/indexer/v1/worker/history", Tasks, config},
	{"GET /service/indexer/v1/workers", Tasks, state},
	{"GET /service/worker/v1/chat/{id}/{path...}", Tasks, byHandler("DATASOURCE of the task")},
	{"GET /service/worker/v1/enabled", Tasks, state},
	{"GET /service/worker/v1/task/{id}/log", Tasks, state},
	{"GET /service/worker/v1/tasks", Tasks, state},
	{"POST /service/indexer/v1/activeLocks", Tasks, state},
	{"POST /service/indexer/v1/datasources/{dataSource}/shutdownAllTasks", Tasks, dataSource},
	{"POST /service/indexer/v1/lockedIntervals", Tasks, state},
	{"POST /service/indexer/v1/lockedIntervals/v2", Tasks, state},
	{"POST /service/indexer/v1/task", Tasks, submitted},
	{"POST /service/indexer/v1/task/{id}/shutdown", Tasks, byHandler("DATASOURCE of the task")},
	{"POST /service/indexer/v1/taskStatus", Tasks, state},
	{"POST /service/indexer/v1/worker", Tasks, config},
	{"POST /service/indexer/v1/worker/{host}/disable", Tasks, state},
	{"POST /service/indexer/v1/worker/{host}/enable", Tasks, state},
	{"POST /service/worker/v1/chat/{id}/{path...}", Tasks, byHandler("DATASOURCE of the task")},
	{"POST /service/worker/v1/disable", Tasks, config},
	{"POST /service/worker/v1/enable", Tasks, config},
	{"POST /service/worker/v1/task/{id}/shutdown", Tasks, state},

	{"GET /service/indexer/v1/supervisor", Supervisors, byHandler("lists supervisors whose datasources have READ")},
	{"GET /service/indexer/v1/supervisor/history", Supervisors, byHandler("lists supervisors whose datasources have READ")},
	{"GET /service/indexer/v1/supervisor/resumeAll", Supervisors, authenticated},
	{"GET /service/indexer/v1/supervisor/suspendAll", Supervisors, authenticated},
	{"GET /service/indexer/v1/supervisor/terminateAll", Supervisors, authenticated},
	{"GET /service/indexer/v1/supervisor/{id}", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"GET /service/indexer/v1/supervisor/{id}/health", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"GET /service/indexer/v1/supervisor/{id}/history", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"GET /service/indexer/v1/supervisor/{id}/offsets", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"GET /service/indexer/v1/supervisor/{id}/parseErrors", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"GET /service/indexer/v1/supervisor/{id}/stats", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"GET /service/indexer/v1/supervisor/{id}/status", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor", Supervisors, supervised},
	{"POST /service/indexer/v1/supervisor/resumeAll", Supervisors, byHandler("acts on supervisors whose datasources have WRITE")},
	{"POST /service/indexer/v1/supervisor/suspendAll", Supervisors, byHandler("acts on supervisors whose datasources have WRITE")},
	{"POST /service/indexer/v1/supervisor/terminateAll", Supervisors, byHandler("acts on supervisors whose datasources have WRITE")},
	{"POST /service/indexer/v1/supervisor/{id}/reset", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/resetOffsets", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/resetToLatestAndBackfill", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/resume", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/shutdown", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/suspend", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/taskGroups/handoff", Supervisors, byHandler("DATASOURCE of the supervisor")},
	{"POST /service/indexer/v1/supervisor/{id}/terminate", Supervisors, byHandler("DATASOURCE of the supervisor")},

	{"DELETE /service/coordinator/v1/config/compaction/taskslots", Compaction, config},
	{"DELETE /service/coordinator/v1/config/compaction/{dataSource}", Compaction, config},
	{"DELETE /service/indexer/v1/compaction/config/datasources/{dataSource}", Compaction, dataSource},
	{"GET /service/coordinator/v1/compaction/progress", Compaction, state},
	{"GET /service/coordinator/v1/compaction/status", Compaction, state},
	{"GET /service/coordinator/v1/config/compaction", Compaction, config},
	{"GET /service/coordinator/v1/config/compaction/taskslots", Compaction, config},
	{"GET /service/coordinator/v1/config/compaction/{dataSource}", Compaction, config},
	{"GET /service/coordinator/v1/config/compaction/{dataSource}/history", Compaction, config},
	{"GET /service/indexer/v1/compaction/config/cluster", Compaction, config},
	{"GET /service/indexer/v1/compaction/config/datasources", Compaction, byHandler("lists datasources with READ")},
	{"GET /service/indexer/v1/compaction/config/datasources/{dataSource}", Compaction, dataSource},
	{"GET /service/indexer/v1/compaction/config/datasources/{dataSource}/history", Compaction, dataSource},
	{"GET /service/indexer/v1/compaction/isSupervisorEnabled", Compaction, config},
	{"GET /service/indexer/v1/compaction/status/datasources", Compaction, byHandler("lists datasources with READ")},
	{"GET /service/indexer/v1/compaction/status/datasources/{dataSource}", Compaction, dataSource},
	{"POST /service/coordinator/v1/compaction/compact", Compaction, config},
	{"POST /service/coordinator/v1/compaction/simulate", Compaction, state},
	{"POST /service/coordinator/v1/config/compaction", Compaction, config},
	{"POST /service/coordinator/v1/config/compaction/cluster", Compaction, config},
	{"POST /service/coordinator/v1/config/compaction/taskslots", Compaction, config},
	{"POST /service/indexer/v1/compaction/config/cluster", Compaction, config},
	{"POST /service/indexer/v1/compaction/config/datasources/{dataSource}", Compaction, dataSource},
	{"POST /service/indexer/v1/compaction/simulate", Compaction, config},

	{"GET /service/coordinator/v1/rules", Retention, state},
	{"GET /service/coordinator/v1/rules/history", Retention, state},
	{"GET /service/coordinator/v1/rules/{dataSource}", Retention, dataSource},
	{"GET /service/coordinator/v1/rules/{dataSource}/history", Retention, dataSource},
	{"POST /service/coordinator/v1/rules/{dataSource}", Retention, dataSource},

	{"GET /service/coordinator/v1/datasources", Metadata, byHandler("lists datasources with READ")},
	{"GET /service/coordinator/v1/datasources/{dataSource}", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/handoffComplete", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/intervals", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}/serverview", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/loadstatus", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/segments", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/segments/{segment}", Metadata, dataSource},
	{"GET /service/coordinator/v1/datasources/{dataSource}/tiers", Metadata, dataSource},
	{"GET /service/coordinator/v1/intervals", Metadata, byHandler("lists datasources with READ")},
	{"GET /service/coordinator/v1/intervals/{interval}", Metadata, byHandler("lists datasources with READ")},
	{"GET /service/coordinator/v1/metadata/datasources", Metadata, byHandler("lists datasources with READ")},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}", Metadata, dataSource},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments", Metadata, dataSource},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments/{segment}", Metadata, dataSource},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments/{segment}/inspect", Metadata, dataSource},
	{"GET /service/coordinator/v1/metadata/datasources/{dataSource}/unusedSegments", Metadata, dataSource},
	{"GET /service/coordinator/v1/metadata/segments", Metadata, byHandler("lists datasources with READ")},
	{"POST /service/coordinator/v1/metadata/bootstrapSegments", Metadata, state},
	{"POST /service/coordinator/v1/metadata/datasources/{dataSource}/segments", Metadata, dataSource},

	{"DELETE /service/coordinator/v1/datasources/{dataSource}", DataManagement, dataSource},
	{"DELETE /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}", DataManagement, dataSource},
	{"DELETE /service/coordinator/v1/datasources/{dataSource}/segments/{segment}", DataManagement, dataSource},
	{"DELETE /service/indexer/v1/datasources/{dataSource}", DataManagement, dataSource},
	{"DELETE /service/indexer/v1/datasources/{dataSource}/intervals/{interval}", DataManagement, dataSource},
	{"DELETE /service/indexer/v1/datasources/{dataSource}/segments/{segment}", DataManagement, dataSource},
	{"DELETE /service/indexer/v1/pendingSegments/{dataSource}", DataManagement, readAndWrite},
	{"POST /service/coordinator/v1/datasources/{dataSource}", DataManagement, dataSource},
	{"POST /service/coordinator/v1/datasources/{dataSource}/markUnused", DataManagement, dataSource},
	{"POST /service/coordinator/v1/datasources/{dataSource}/markUsed", DataManagement, dataSource},
	{"POST /service/coordinator/v1/datasources/{dataSource}/segments/{segment}", DataManagement, dataSource},
	{"POST /service/indexer/v1/datasources/{dataSource}", DataManagement, dataSource},
	{"POST /service/indexer/v1/datasources/{dataSource}/markUnused", DataManagement, dataSource},
	{"POST /service/indexer/v1/datasources/{dataSource}/markUsed", DataManagement, dataSource},
	{"POST /service/indexer/v1/datasources/{dataSource}/segments/{segment}", DataManagement, dataSource},

	{"DELETE /service/coordinator/v1/lookups/config/{tier}", Lookups, config},
	{"DELETE /service/coordinator/v1/lookups/config/{tier}/{lookup}", Lookups, config},
	{"DELETE /service/listen/v1/lookups/{lookup}", Lookups, config},
	{"GET /service/coordinator/v1/lookups/config", Lookups, config},
	{"GET /service/coordinator/v1/lookups/config/all", Lookups, config},
	{"GET /service/coordinator/v1/lookups/config/{tier}", Lookups, config},
	{"GET /service/coordinator/v1/lookups/config/{tier}/{lookup}", Lookups, config},
	{"GET /service/coordinator/v1/lookups/nodeStatus", Lookups, config},
	{"GET /service/coordinator/v1/lookups/nodeStatus/{tier}", Lookups, config},
	{"GET /service/coordinator/v1/lookups/nodeStatus/{tier}/{node}", Lookups, config},
	{"GET /service/coordinator/v1/lookups/status", Lookups, config},
	{"GET /service/coordinator/v1/lookups/status/{tier}", Lookups, config},
	{"GET /service/coordinator/v1/lookups/status/{tier}/{lookup}", Lookups, config},
	{"GET /service/listen/v1/lookups", Lookups, config},
	{"GET /service/listen/v1/lookups/{lookup}", Lookups, config},
	{"GET /service/v1/lookups/introspect", Lookups, config},
	{"GET /service/v1/lookups/introspect/{lookup}", Lookups, config},
	{"GET /service/v1/lookups/introspect/{lookup}/{part}", Lookups, config},
	{"POST /service/coordinator/v1/lookups/config", Lookups, config},
	{"POST /service/coordinator/v1/lookups/config/{tier}/{lookup}", Lookups, config},
	{"POST /service/listen/v1/lookups/updates", Lookups, config},
	{"POST /service/listen/v1/lookups/{lookup}", Lookups, config},

	{"GET /service/coordinator/v1/broker/config", Configuration, config},
	{"GET /service/coordinator/v1/broker/config/history", Configuration, config},
	{"GET /service/coordinator/v1/config", Configuration, config},
	{"GET /service/coordinator/v1/config/cloneStatus", Configuration, state},
	{"GET /service/coordinator/v1/config/history", Configuration, config},
	{"GET /service/coordinator/v1/config/syncedBrokers", Configuration, state},
	{"POST /service/coordinator/v1/broker/config", Configuration, config},
	{"POST /service/coordinator/v1/config", Configuration, config},

	{"GET /service/broker/v1/loadstatus", Cluster, state},
	{"GET /service/broker/v1/readiness", Cluster, open},
	{"GET /service/coordinator/v1/cluster", Cluster, state},
	{"GET /service/coordinator/v1/cluster/{role}", Cluster, state},
	{"GET /service/coordinator/v1/duties", Cluster, state},
	{"GET /service/coordinator/v1/isLeader", Cluster, open},
	{"GET /service/coordinator/v1/leader", Cluster, state},
	{"GET /service/coordinator/v1/loadqueue", Cluster, state},
	{"GET /service/coordinator/v1/loadstatus", Cluster, state},
	{"GET /service/coordinator/v1/servers", Cluster, state},
	{"GET /service/coordinator/v1/servers/{server}", Cluster, state},
	{"GET /service/coordinator/v1/servers/{server}/segments", Cluster, state},
	{"GET /service/coordinator/v1/servers/{server}/segments/{segment}", Cluster, state},
	{"GET /service/coordinator/v1/tiers", Cluster, state},
	{"GET /service/coordinator/v1/tiers/{tier}", Cluster, state},
	{"GET /service/coordinator/v1/why", Cluster, byHandler("DATASOURCE READ, or STATE READ where the request names no datasource")},
	{"GET /service/historical/v1/loadstatus", Cluster, state},
	{"GET /service/historical/v1/readiness", Cluster, open},
	{"GET /service/router/v1/brokers", Cluster, state},

	{"DELETE /service-ext/basic-security/authentication/db/{name}/users/{user}", Security, security},
	{"DELETE /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}", Security, security},
	{"DELETE /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}/roles/{role}", Security, security},
	{"DELETE /service-ext/basic-security/authorization/db/{name}/roles/{role}", Security, security},
	{"DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}", Security, security},
	{"DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", Security, security},
	{"GET /service-ext/basic-security/authentication/db/{name}/cachedSerializedUserMap", Security, security},
	{"GET /service-ext/basic-security/authentication/db/{name}/users", Security, security},
	{"GET /service-ext/basic-security/authentication/db/{name}/users/{user}", Security, security},
	{"GET /service-ext/basic-security/authentication/loadStatus", Security, security},
	{"GET /service-ext/basic-security/authentication/refreshAll", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedGroupMappingMap", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedUserMap", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/groupMappings", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/roles", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/roles/{role}", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/roles/{role}/limits", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/roles/{role}/permissions", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/users", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/users/{user}", Security, security},
	{"GET /service-ext/basic-security/authorization/db/{name}/users/{user}/limits", Security, security},
	{"GET /service-ext/basic-security/authorization/loadStatus", Security, security},
	{"GET /service-ext/basic-security/authorization/refreshAll", Security, security},
	{"POST /service-ext/basic-security/authentication/db/{name}/users/{user}", Security, security},
	{"POST /service-ext/basic-security/authentication/db/{name}/users/{user}/credentials", Security, security},
	{"POST /service-ext/basic-security/authentication/listen/{name}", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}/roles/{role}", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/roles/{role}", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/roles/{role}/limits", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/roles/{role}/permissions", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/users/{user}", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/users/{user}/limits", Security, security},
	{"POST /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}", Security, security},
	{"POST /service-ext/basic-security/authorization/listen/groupMappings/{name}", Security, security},
	{"POST /service-ext/basic-security/authorization/listen/users/{name}", Security, security},
	{"POST /service-ext/basic-security/authorization/listen/{name}", Security, security},
	{"GET /service-ext/access/callback", Security, open},
	{"GET /service-ext/access/device", Security, open},
	{"GET /service-ext/access/login", Security, open},
	{"GET /service-ext/access/self", Security, authenticated},
	{"POST /service-ext/access/logout", Security, open},
	{"DELETE /service-ext/access/keys/{id}", Security, security},
	{"GET /service-ext/access/keys", Security, security},
	{"GET /service-ext/access/keys/{id}", Security, security},
	{"POST /service-ext/access/keys", Security, security},
	{"POST /service-ext/access/keys/{id}/rotate", Security, security},
	{"POST /service-ext/access/preview", Security, previewed},
	{"/service-ext/basic-security/authentication/db/{name}/{rest...}", Security, security},
	{"/service-ext/basic-security/authorization/db/{name}/{rest...}", Security, security},

	{"DELETE /mcp", Agents, authenticated},
	{"GET /mcp", Agents, authenticated},
	{"POST /mcp", Agents, authenticated},
	{"GET /assets/{name}", Console, open},
	{"GET /favicon.svg", Console, open},
	{"GET /{$}", Console, open},
	{"DELETE /service-ext/console/queries/{id}", Console, byHandler("any identity; own queries, with CONFIG WRITE also shared ones")},
	{"GET /service-ext/console/queries", Console, byHandler("any identity; own queries and shared ones")},
	{"GET /service-ext/console/queries/{id}", Console, byHandler("any identity; own queries and shared ones")},
	{"POST /service-ext/console/export", Console, byHandler("as POST /service/v2/sql")},
	{"POST /service-ext/console/queries", Console, byHandler("any identity")},
	{"PUT /service-ext/console/queries/{id}", Console, byHandler("any identity; own queries")},
	{"GET /service-ext/console/progress/{id}", Console, byHandler("own queries; STATE READ: all")},
	{"GET /service-ext/console/datasources/{dataSource}/columns", Console, byHandler("DATASOURCE READ of the datasource, without rules")},
	{"GET /service-ext/console/datasources/{dataSource}/tail", Console, byHandler("DATASOURCE READ of the datasource, as for a query")},

	{"GET /healthz", Status, open},
	{"GET /metrics", Status, state},
	{"GET /openapi.json", Status, open},
	{"GET /readyz", Status, open},
	{"GET /service/openapi.json", Status, open},
	{"GET /status", Status, state},
	{"GET /status/health", Status, open},
	{"GET /status/metrics", Status, state},
	{"GET /status/properties", Status, config},
	{"GET /status/ready", Status, open},
	{"GET /status/selfDiscovered", Status, state},
	{"GET /status/selfDiscovered/status", Status, state},

	{"/", Proxies, passed},
	{"/proxy/coordinator", Proxies, authenticated},
	{"/proxy/coordinator/", Proxies, passed},
	{"/proxy/overlord", Proxies, authenticated},
	{"/proxy/overlord/", Proxies, passed},
	{"/proxy/{rest...}", Proxies, authenticated},
	{"GET /proxy/enabled", Proxies, authenticated},

	{"DELETE /service-internal/v1/parts/{session}", Internal, state},
	{"GET /service-internal/v1/assigned", Internal, state},
	{"GET /service-internal/v1/live", Internal, state},
	{"GET /service-internal/v1/parts/{session}/outputs/{id}/{frame}", Internal, state},
	{"GET /service-internal/v1/published", Internal, state},
	{"GET /service-internal/v1/push/{datasource}/{log}", Internal, state},
	{"GET /service-internal/v1/push/{datasource}/{log}/entries", Internal, state},
	{"GET /service-internal/v1/queries", Internal, state},
	{"GET /service-internal/v1/progress/{id}", Internal, state},
	{"GET /service-internal/v1/queries/{id}", Internal, state},
	{"GET /service-internal/v1/segments", Internal, state},
	{"GET /service-internal/v1/segments/loadCapabilities", Internal, state},
	{"POST /service-internal/v1/streams/checkpoint", Internal, state},
	{"GET /service-internal/v1/tasks", Internal, state},
	{"GET /service-internal/v1/tasks/{id}/deadLetters", Internal, state},
	{"GET /service-internal/v1/tasks/{id}/log", Internal, state},
	{"GET /service-internal/v1/tasks/{id}/report", Internal, state},
	{"GET /service-internal/v1/uploads/{id}", Internal, writer},
	{"GET /service-internal/v1/uploads/{id}/content", Internal, writer},
	{"POST /service-internal/v1/analyses", Internal, state},
	{"POST /service-internal/v1/columns", Internal, state},
	{"POST /service-internal/v1/commands", Internal, state},
	{"POST /service-internal/v1/fragments", Internal, state},
	{"POST /service-internal/v1/parts/{session}", Internal, state},
	{"POST /service-internal/v1/parts/{session}/run", Internal, state},
	{"POST /service-internal/v1/push/{datasource}/{log}/copy", Internal, state},
	{"POST /service-internal/v1/push/{datasource}/{log}/read", Internal, state},
	{"POST /service-internal/v1/segments/changeRequests", Internal, state},
	{"POST /service-internal/v1/tasks", Internal, state},
	{"POST /service-internal/v1/tasks/end", Internal, state},
	{"PUT /service-internal/v1/push/{datasource}/{log}/copy", Internal, state},
}
