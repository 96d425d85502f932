// Types of the HTTP interface, written by go generate from internal/api/endpoints/openapi; do not edit.

export interface Schemas {
  APIKey: { created?: string | null; createdBy: string; description: string; expired: boolean; expires?: string | null; id: string; key?: string; lastUsed?: string | null; networks: string[]; previousUntil?: string | null; roles: string[]; rotated?: string | null };
  /** What a permission to read shows. */
  AccessRule: { columns?: Record<string, { hide?: boolean; mask?: string }>; rows?: string };
  /** The file of a segment taken apart. */
  Anatomy: { bytesPerRow: number; columns: Schemas["AnatomyColumn"][]; file: string; footerSize: number; maxTime?: string; metadata?: unknown; minTime?: string; queryGranularity?: string; rollup: boolean; rows: number; size: number; sortOrder?: string[]; version: number };
  /** A column of a file, or the elements of a list. */
  AnatomyColumn: { cardinality?: number; cardinalityExact: boolean; detail?: string; elements?: Schemas["AnatomyColumn"]; encoding: string; indexed: boolean; max?: unknown; metric?: string; min?: unknown; multiValue?: boolean; name: string; nulls: number; offset: number; parts: Schemas["AnatomyPart"][]; path?: string; rows: number; size: number; type: string };
  AnatomyPart: { name: string; offset: number; size: number };
  AuditEntry: { auditInfo?: Schemas["AuditInfo"] | null; auditTime?: string; key?: string; payload?: unknown; type?: string };
  AuditInfo: { author?: string | null; comment?: string | null; identity?: string | null; ip?: string | null };
  AuthenticatorUser: { credentials?: Record<string, unknown> | null; name: string };
  AuthorizerUser: { name: string; roles: (string | Schemas["Role"])[] };
  /** A request or response of the Avatica protocol. */
  AvaticaMessage: { connectionId?: unknown; request?: unknown; response?: string; statementId?: unknown };
  ColumnStatistics: { boundsEstimated: boolean; bytes: number; distinct?: number | null; distinctEstimated: boolean; histogram: Schemas["HistogramBucket"][]; max?: unknown; min?: unknown; name: string; nulls: number; paths?: { path: string; type: string }[]; rows: number; top: Schemas["CountedValue"][]; topEstimated: boolean; type: string };
  CompactionChange: { auditInfo?: Schemas["AuditInfo"] | null; auditTime?: string; compactionConfig?: Record<string, unknown> | null; globalConfig?: Record<string, unknown> | null };
  CompactionCluster: { compactionPolicy?: Record<string, unknown> | null; compactionTaskSlotRatio?: number | null; engine?: string | null; maxCompactionTaskSlots?: number | null; useSupervisors?: boolean | null };
  CompactionConfig: { dataSource: string; dimensionsSpec?: Record<string, unknown> | null; engine?: string | null; granularitySpec?: Record<string, unknown> | null; inputSegmentSizeBytes?: number | null; ioConfig?: Record<string, unknown> | null; maxRowsPerSegment?: number | null; metricsSpec?: unknown; skipOffsetFromLatest?: string | null; taskContext?: Record<string, unknown> | null; taskPriority?: number | null; transformSpec?: Record<string, unknown> | null; tuningConfig?: Record<string, unknown> | null };
  CompactionStatus: { bytesAwaitingCompaction?: number; bytesCompacted?: number; bytesSkipped?: number; dataSource?: string; intervalCountAwaitingCompaction?: number; intervalCountCompacted?: number; intervalCountSkipped?: number; scheduleStatus?: string; segmentCountAwaitingCompaction?: number; segmentCountCompacted?: number; segmentCountSkipped?: number };
  CountedValue: { count: number; value: string };
  DataSourceStatistics: { columns: Schemas["ColumnStatistics"][]; columnsTruncated?: boolean; dataSource: string; describedRows: number; describedSegments: number; sampled: boolean; segments: number };
  Decision: { dataSource: string; details?: Record<string, unknown> | null; id: string; outcome: string; reason: string; subject: string; topic: string };
  /** What went wrong. Management endpoints give error alone; a missing permission gives Access-Check-Result. */
  Error: { "Access-Check-Result"?: string; category?: string; context?: unknown; error?: unknown; errorClass?: string | null; errorCode?: string; errorMessage?: unknown; host?: string | null; persona?: string };
  GroupMapping: { groupPattern: string; name: string; roles: (string | Schemas["Role"])[] };
  HistogramBucket: { count: number; from?: unknown; to?: unknown };
  Id: { id?: string };
  KeyRequest: { description?: string; expires?: string; lifetime?: string; networks?: string[]; roles: string[] };
  Leader: { leader?: boolean };
  Limits: { bytes?: number; concurrentQueries?: number; cpuSeconds?: number; requestsPerSecond?: number; rows?: number };
  Location: { host?: string | null; port?: number; tlsPort?: number };
  LockFilter: { context?: Record<string, unknown> | null; datasource?: string | null; priority?: number | null };
  Lookup: { lookupExtractorFactory?: Record<string, unknown>; version?: string | null };
  LookupLoaded: { loaded: boolean; pendingNodes?: unknown[] };
  LookupState: { current?: Record<string, unknown>; toDrop?: string[]; toLoad?: Record<string, unknown> };
  MarkRequest: { interval?: string | null; segmentIds?: unknown; versions?: unknown };
  Marked: { segmentStateChanged?: boolean };
  MarkedCount: { numChangedSegments?: number; segmentStateChanged?: boolean };
  NamedEngine: { name?: string };
  NativeQuery: { context?: Record<string, unknown> | null; dataSource?: unknown; filter?: unknown; granularity?: unknown; intervals?: unknown; queryType?: string };
  Parameters: (Schemas["SQLParameter"] | null)[];
  /** With simplifyPermissions it is a ResourceAction. */
  Permission: { resourceAction: Schemas["ResourceAction"]; resourceNamePattern?: string };
  Preview: { allowed: boolean; columns: Schemas["PreviewColumn"][]; dataSources: Schemas["PreviewDataSource"][]; needs: Schemas["PreviewNeed"][]; roles: string[]; sample?: Record<string, unknown>[]; user: string | null };
  PreviewColumn: { mask?: string; name: string; role?: string; shown?: "whole" | "masked" | "hidden"; type: string };
  PreviewDataSource: { columns: Schemas["PreviewColumn"][]; name: string; rows: { condition?: string; role?: string }[] };
  PreviewNeed: { action: "READ" | "WRITE"; allowed: boolean; resource: { name: string; type: string }; rules: Schemas["PreviewRule"][] };
  PreviewRule: { columns?: Record<string, { hide?: boolean; mask?: string }>; role?: string; rows?: string };
  PushAnswer: { acknowledgement?: string; committedOffset?: string; duplicate?: boolean; guarantee?: "exactlyOnce" | "atLeastOnce"; refused?: Record<string, unknown>[]; rows?: number; skipped?: number };
  QueryProgress: { bytes: number; bytesRead: number; elapsedMs: number; etaMs?: number | null; memoryBytes: number; percent?: number | null; rows: number; rowsRead: number; rowsReturned: number; segments: number; segmentsRead: number; sqlQueryId: string; state: string };
  QueryReport: { bytes?: number; dataSources?: string[]; durationMs?: number; errorMessage?: string; identity?: string; lane?: string; memoryBytes?: number; rows?: number };
  RPCAnswer: { error?: { code?: number; data?: unknown; message?: string }; id?: unknown; jsonrpc?: string; result?: Record<string, unknown> };
  RPCMessage: { id?: unknown; jsonrpc: string; method: string; params?: Record<string, unknown> };
  ResourceAction: { action: "READ" | "WRITE"; policy?: Schemas["AccessRule"] | null; resource: { name: string; type: string } };
  RetentionRule: { includeFuture?: boolean | null; interval?: string | null; period?: string | null; tieredReplicants?: unknown; type: "loadForever" | "loadByPeriod" | "loadByInterval" | "dropForever" | "dropByPeriod" | "dropBeforeByPeriod" | "dropByInterval" | "broadcastForever" | "broadcastByPeriod" | "broadcastByInterval"; useDefaultTierForNull?: boolean | null };
  Role: { groups?: string[]; name: string; permissions: (Schemas["ResourceAction"] | Schemas["Permission"])[]; users?: string[] | null };
  /** Rows in the resultFormat: an array of objects or arrays, or lines, or CSV. */
  Rows: unknown;
  RunningQuery: { engine?: string; sql?: string; sqlQueryId?: string; startTime?: string; state?: string };
  SQLParameter: { type: string; value?: unknown };
  SQLRequest: { context?: Record<string, unknown> | null; header?: boolean | null; parameters?: Schemas["Parameters"] | null; query: string; resultFormat?: "object" | "array" | "objectLines" | "arrayLines" | "csv" | "arrow" | null; sqlTypesHeader?: boolean | null; typesHeader?: boolean | null };
  SQLTask: { error?: unknown; state?: "RUNNING" | "SUCCESS" | "FAILED"; taskId?: string };
  Sample: { data?: Record<string, unknown>[]; logicalDimensions?: unknown; logicalSegmentSchema?: unknown; numRowsIndexed?: number; numRowsRead?: number; physicalDimensions?: unknown };
  SavedQuery: { created: string; id: string; name: string; own: boolean; owner: string; shared: boolean; statement: string; updated: string; version: number; view: Record<string, unknown> };
  SavedQueryRequest: { name: string; shared?: boolean; statement: string; version?: number | null; view?: Record<string, unknown> | null };
  Segment: { binaryVersion?: number; dataSource?: string; dimensions?: string; identifier?: string; interval?: string; loadSpec?: Record<string, unknown> | null; metrics?: string; overshadowed?: boolean; shardSpec?: Record<string, unknown>; size?: number; version?: string };
  Self: { attributes: Record<string, string[]>; authenticator: string; authorizer: string; logins: string[]; roles: string[]; secured: boolean; user: string };
  Statement: { counters?: unknown; createdAt?: string; durationMs?: number; errorDetails?: unknown; queryId?: string; result?: unknown; schema?: unknown; stages?: unknown; state?: "ACCEPTED" | "RUNNING" | "SUCCESS" | "FAILED"; warnings?: unknown };
  Status: { memory?: Record<string, unknown>; modules?: Record<string, unknown>[]; version: string };
  StreamPlaces: { currentOffsets: Record<string, unknown>; earliestOffsets: Record<string, unknown>; latestOffsets: Record<string, unknown>; publishedOffsets: Record<string, unknown>; readAgainByReset: Record<string, number>; resetOffsets: Record<string, unknown>; skippedByReset: Record<string, number>; stream: string; type: string };
  SupervisorSpec: { context?: Record<string, unknown> | null; spec?: Record<string, unknown> | null; suspended?: boolean | null; type: string };
  SupervisorVersion: { spec?: unknown; version?: string };
  Survey: { bytes?: number | null; columns?: ({ name?: string; times?: string | null; type?: string })[]; files?: number | null; firstUnreadable?: string | null; header?: boolean | null; inputFormat?: Record<string, unknown>; keepTime?: boolean | null; kind?: string; notes?: string[]; otherTimeFormat?: string | null; problems?: string[]; records?: number; time?: string | null; timeExpression?: string | null; timeFormat?: string | null; unreadable?: number | null; untimed?: number | null; whole?: boolean | null };
  /** One line; as a server-sent event its data. */
  TailEvent: { columns?: { name: string; type: string }[]; reason?: string; rows?: unknown[]; truncated?: boolean; type: "columns" | "rows" | "alive" | "end" };
  TaskId: { task?: string };
  TaskSpec: { context?: Record<string, unknown> | null; dataSource?: string | null; id?: string | null; spec?: Record<string, unknown> | null; type: string };
  TaskStatus: { createdTime?: string; dataSource?: string | null; duration?: number | null; errorMsg?: string | null; groupId?: string | null; id?: string; location?: Schemas["Location"] | null; queueInsertionTime?: string; runnerStatusCode?: string | null; status?: unknown; statusCode?: string | null; type?: string | null };
  Upload: { expires?: string; id?: string; inputSource?: { ids?: string[]; type?: string }; name?: string; size?: number };
  Worker: { availabilityGroups?: string[]; blacklistedUntil?: string | null; currCapacityUsed?: number; currParallelIndexCapacityUsed?: number; lastCompletedTaskTime?: string; runningTasks?: string[]; worker?: { capacity?: number; category?: string; host?: string; ip?: string; scheme?: string; version?: string } };
}

/** Operations by method and path: what each takes, and the JSON of a good answer. */
export interface Operations {
  /** Rejects a cancellation without a query. */
  "DELETE /service/v2/sql": { answer: undefined };
  /** Cancels all queries with an id on every Broker. */
  "DELETE /service/v2/sql/{id}": { path: { id: string }; answer: undefined };
  /** Lists the engines that run SQL. */
  "GET /service/v2/sql/engines": { answer: { engines?: Schemas["NamedEngine"][] } };
  /** Lists running queries. */
  "GET /service/v2/sql/queries": { query: { includeComplete?: string; selfOnly?: string }; answer: { queries?: Schemas["RunningQuery"][] } };
  /** Returns details of a query that is running or ended recently. */
  "GET /service/v2/sql/queries/{id}/reports": { path: { id: string }; answer: { query?: Schemas["RunningQuery"] | null; report?: Schemas["QueryReport"] | null } };
  /** Serves clients of Arrow Flight SQL, over gRPC. */
  "POST /arrow.flight.protocol.FlightService/{method}": { path: { method: string }; answer: string };
  /** Runs a SQL query and streams its rows. */
  "POST /service/v2/sql": { body: Schemas["SQLRequest"]; answer: Schemas["Rows"] };
  /** Serves the JDBC driver of Avatica, in JSON. */
  "POST /service/v2/sql/avatica": { answer: Schemas["AvaticaMessage"] };
  /** Serves the JDBC driver of Avatica, in protobuf. */
  "POST /service/v2/sql/avatica-protobuf": { answer: string };
  /** Returns the last committed offset of a channel. */
  "GET /service/v2/ingest/{datasource}/channels/{channel}": { path: { datasource: string; channel: string }; answer: { channel?: string; committedOffset?: string } };
  /** Returns how rows of a datasource are read. */
  "GET /service/v2/ingest/{datasource}/config": { path: { datasource: string }; answer: Record<string, unknown> };
  /** Adds rows to a datasource, and acknowledges them once they are durable. */
  "POST /service/v2/ingest/{datasource}": { path: { datasource: string }; query: { ack?: "durable" | "queryable" | "published"; channel?: string; offset?: string; onError?: "fail" | "skip"; timeColumn?: string; timeFormat?: string }; body: unknown; answer: Schemas["PushAnswer"] };
  /** Sets how rows of a datasource are read: a dataSchema. */
  "PUT /service/v2/ingest/{datasource}/config": { path: { datasource: string }; body: Record<string, unknown>; answer: Schemas["Id"] };
  /** Rejects a cancellation without a statement. */
  "DELETE /service/v2/sql/statements": { answer: undefined };
  /** Cancels a statement, or deletes the result of a statement that has ended. */
  "DELETE /service/v2/sql/statements/{id}": { path: { id: string }; answer: undefined };
  /** Returns whether statements are accepted. */
  "GET /service/v2/sql/statements/enabled": { answer: { enabled?: boolean } };
  /** Returns the state of a statement. */
  "GET /service/v2/sql/statements/{id}": { path: { id: string }; query: { detail?: boolean }; answer: Schemas["Statement"] };
  /** Returns rows of a statement that has ended, all or one page. */
  "GET /service/v2/sql/statements/{id}/results": { path: { id: string }; query: { filename?: string; page?: number; resultFormat?: string }; answer: Schemas["Rows"] | undefined };
  /** Starts an asynchronous SQL statement. */
  "POST /service/v2/sql/statements": { body: Schemas["SQLRequest"]; answer: Schemas["Statement"] };
  /** Rejects a cancellation without a task. */
  "DELETE /service/v2/sql/task": { answer: undefined };
  /** Returns whether SQL tasks are accepted. */
  "GET /service/v2/sql/task/enabled": { answer: { enabled?: boolean } };
  /** Starts an ingestion in SQL (INSERT, REPLACE, EXPORT) as a task. */
  "POST /service/v2/sql/task": { body: Schemas["SQLRequest"]; answer: unknown | Schemas["SQLTask"] };
  /** Rejects a cancellation whose path is not a query. */
  "DELETE /service/v2/candidates": { answer: undefined };
  /** Rejects a cancellation whose path is not a query. */
  "DELETE /service/v2/datasources": { answer: undefined };
  /** Cancels all native queries with an id. */
  "DELETE /service/v2/{id}": { path: { id: string }; answer: undefined };
  /** Lists the datasources that can be queried. */
  "GET /service/v2/datasources": { answer: string[] };
  /** Returns dimensions and metrics of a datasource. */
  "GET /service/v2/datasources/{dataSource}": { path: { dataSource: string }; query: { full?: string; interval?: string }; answer: Record<string, unknown> };
  /** Lists the segments of intervals, and the servers that hold them. */
  "GET /service/v2/datasources/{dataSource}/candidates": { path: { dataSource: string }; query: { intervals?: string; numCandidates?: number }; answer: Record<string, unknown>[] };
  /** Lists the dimensions of a datasource. */
  "GET /service/v2/datasources/{dataSource}/dimensions": { path: { dataSource: string }; answer: string[] };
  /** Lists the metrics of a datasource. */
  "GET /service/v2/datasources/{dataSource}/metrics": { path: { dataSource: string }; answer: string[] };
  /** Runs a native query. */
  "POST /service/v2": { query: { pretty?: string }; body: Schemas["NativeQuery"]; answer: unknown };
  /** Lists the segments that a native query reads, and the servers that hold them. */
  "POST /service/v2/candidates": { query: { numCandidates?: number }; body: Schemas["NativeQuery"]; answer: Record<string, unknown>[] };
  /** Rejects a native query at an unknown path. */
  "POST /service/v2/{id}": { path: { id: string }; answer: undefined };
  /** Reads the first rows of an input as an ingestion would. */
  "POST /service/indexer/v1/sampler": { body: Record<string, unknown>; answer: Schemas["Sample"] };
  /** Detects the format of files, types that represent every value, and the time column. */
  "POST /service/indexer/v1/survey": { body: { delimiter?: string; header?: boolean; inputSource?: Record<string, unknown>; maxRecords?: number; noTime?: boolean; time?: string; timeFormat?: string; types?: Record<string, string> }; answer: Schemas["Survey"] };
  /** Deletes an upload of the user. */
  "DELETE /service/indexer/v1/uploads/{id}": { path: { id: string }; answer: undefined };
  /** Lists the uploads of the user, and the limits. */
  "GET /service/indexer/v1/uploads": { answer: { maxBytes?: number; maxTotalBytes?: number; uploads?: Schemas["Upload"][]; usedBytes?: number } };
  /** Uploads a file for the input source of type upload. */
  "POST /service/indexer/v1/uploads": { query: { name?: string }; answer: Schemas["Upload"] };
  /** Lists tasks that have ended. */
  "GET /service/indexer/v1/completeTasks": { query: { datasource?: string; max?: number; n?: number; type?: string }; answer: Schemas["TaskStatus"][] };
  /** Returns whether the process is the leading Overlord. */
  "GET /service/indexer/v1/isLeader": { answer: Schemas["Leader"] };
  /** Returns the address of the leading Overlord. */
  "GET /service/indexer/v1/leader": { answer: unknown };
  /** Lists tasks that wait for a worker. */
  "GET /service/indexer/v1/pendingTasks": { query: { datasource?: string; type?: string }; answer: Schemas["TaskStatus"][] };
  /** Lists running tasks. */
  "GET /service/indexer/v1/runningTasks": { query: { datasource?: string; type?: string }; answer: Schemas["TaskStatus"][] };
  /** Returns the actions of worker autoscaling, which are always empty. */
  "GET /service/indexer/v1/scaling": { answer: unknown };
  /** Returns the payload of a task. */
  "GET /service/indexer/v1/task/{id}": { path: { id: string }; answer: { payload?: Record<string, unknown>; task?: string } };
  /** Returns the records that a task could not read, if they are kept. */
  "GET /service/indexer/v1/task/{id}/deadLetters": { path: { id: string }; answer: unknown };
  /** Returns the log of a task. */
  "GET /service/indexer/v1/task/{id}/log": { path: { id: string }; query: { offset?: number }; answer: string };
  /** Returns the reports of a task. */
  "GET /service/indexer/v1/task/{id}/reports": { path: { id: string }; answer: Record<string, unknown> };
  /** Rejected: tasks no longer report segments by actions. */
  "GET /service/indexer/v1/task/{id}/segments": { path: { id: string }; answer: unknown[] };
  /** Returns the status of a task. */
  "GET /service/indexer/v1/task/{id}/status": { path: { id: string }; answer: { status?: Schemas["TaskStatus"]; task?: string } };
  /** Lists tasks. */
  "GET /service/indexer/v1/tasks": { query: { createdTimeInterval?: string; datasource?: string; max?: number; state?: "pending" | "waiting" | "running" | "complete"; type?: string }; answer: Schemas["TaskStatus"][] };
  /** Returns how many tasks can run at the same time. */
  "GET /service/indexer/v1/totalWorkerCapacity": { answer: { currentClusterCapacity?: number; maximumCapacityWithAutoScale?: number; usedClusterCapacity?: number } };
  /** Lists tasks that wait for locks. */
  "GET /service/indexer/v1/waitingTasks": { query: { datasource?: string; type?: string }; answer: Schemas["TaskStatus"][] };
  /** Returns how workers are chosen. */
  "GET /service/indexer/v1/worker": { answer: Record<string, unknown> | null };
  /** Lists changes of how workers are chosen. */
  "GET /service/indexer/v1/worker/history": { query: { count?: number; interval?: string }; answer: Schemas["AuditEntry"][] };
  /** Lists workers with their tasks. */
  "GET /service/indexer/v1/workers": { answer: Schemas["Worker"][] };
  /** Returns information of a streaming task: status, offsets, checkpoints, rowStats, liveReports. */
  "GET /service/worker/v1/chat/{id}/{path}": { path: { id: string; path: string }; query: { full?: string }; answer: unknown | undefined };
  /** Returns whether a worker accepts tasks. */
  "GET /service/worker/v1/enabled": { answer: Record<string, boolean> };
  /** Returns the log of a task of this worker. */
  "GET /service/worker/v1/task/{id}/log": { path: { id: string }; query: { offset?: number }; answer: string };
  /** Lists the tasks of this worker. */
  "GET /service/worker/v1/tasks": { answer: string[] };
  /** Lists locks on datasources. */
  "POST /service/indexer/v1/activeLocks": { body: Schemas["LockFilter"][]; answer: Record<string, unknown> };
  /** Ends all tasks of a datasource. */
  "POST /service/indexer/v1/datasources/{dataSource}/shutdownAllTasks": { path: { dataSource: string }; answer: { dataSource?: string } };
  /** Lists intervals with locks of a priority or higher. */
  "POST /service/indexer/v1/lockedIntervals": { body: Record<string, number>; answer: Record<string, string[]> };
  /** Lists intervals with locks that would block work of a priority. */
  "POST /service/indexer/v1/lockedIntervals/v2": { body: Schemas["LockFilter"][]; answer: Record<string, unknown> };
  /** Submits a task. */
  "POST /service/indexer/v1/task": { body: Schemas["TaskSpec"]; answer: Schemas["TaskId"] };
  /** Ends a task. */
  "POST /service/indexer/v1/task/{id}/shutdown": { path: { id: string }; answer: Schemas["TaskId"] };
  /** Returns the status of tasks by their ids. */
  "POST /service/indexer/v1/taskStatus": { body: string[]; answer: Record<string, Schemas["TaskStatus"]> };
  /** Sets how workers are chosen. */
  "POST /service/indexer/v1/worker": { body: Record<string, unknown>; answer: undefined };
  /** Disables a worker, so that it accepts no new tasks. */
  "POST /service/indexer/v1/worker/{host}/disable": { path: { host: string }; answer: Record<string, unknown> };
  /** Enables a worker, so that it accepts tasks again. */
  "POST /service/indexer/v1/worker/{host}/enable": { path: { host: string }; answer: Record<string, unknown> };
  /** Pauses or resumes a streaming task, or ends it at offsets. */
  "POST /service/worker/v1/chat/{id}/{path}": { path: { id: string; path: string }; query: { finish?: boolean; publish?: boolean }; body: unknown; answer: unknown | undefined };
  /** Disables this worker, so that it accepts no new tasks. */
  "POST /service/worker/v1/disable": { answer: Record<string, unknown> };
  /** Enables this worker, so that it accepts tasks again. */
  "POST /service/worker/v1/enable": { answer: Record<string, unknown> };
  /** Ends a task of this worker. */
  "POST /service/worker/v1/task/{id}/shutdown": { path: { id: string }; answer: Schemas["TaskId"] };
  /** Lists supervisors: their ids, or more details. */
  "GET /service/indexer/v1/supervisor": { query: { full?: string; state?: boolean; system?: string }; answer: unknown[] };
  /** Lists all versions of all supervisors. */
  "GET /service/indexer/v1/supervisor/history": { answer: Record<string, Schemas["SupervisorVersion"][]> };
  /** Rejected: this endpoint needs POST. */
  "GET /service/indexer/v1/supervisor/resumeAll": { answer: undefined };
  /** Rejected: this endpoint needs POST. */
  "GET /service/indexer/v1/supervisor/suspendAll": { answer: undefined };
  /** Rejected: this endpoint needs POST. */
  "GET /service/indexer/v1/supervisor/terminateAll": { answer: undefined };
  /** Returns the specification of a supervisor. */
  "GET /service/indexer/v1/supervisor/{id}": { path: { id: string }; answer: Schemas["SupervisorSpec"] };
  /** Returns whether a supervisor is healthy. */
  "GET /service/indexer/v1/supervisor/{id}/health": { path: { id: string }; answer: { healthy?: boolean } };
  /** Lists the versions of a supervisor. */
  "GET /service/indexer/v1/supervisor/{id}/history": { path: { id: string }; query: { count?: number }; answer: Schemas["SupervisorVersion"][] };
  /** Returns the offsets of a supervisor: the ends of each partition, what is published and read, where reading would continue after a reset, and how many records it would skip or read again. */
  "GET /service/indexer/v1/supervisor/{id}/offsets": { path: { id: string }; answer: Schemas["StreamPlaces"] };
  /** Lists the last records that tasks of a supervisor could not read. */
  "GET /service/indexer/v1/supervisor/{id}/parseErrors": { path: { id: string }; answer: Record<string, unknown>[] };
  /** Returns how many rows tasks of a supervisor read. */
  "GET /service/indexer/v1/supervisor/{id}/stats": { path: { id: string }; answer: Record<string, unknown> };
  /** Returns state, tasks, offsets and errors of a supervisor. */
  "GET /service/indexer/v1/supervisor/{id}/status": { path: { id: string }; answer: { generationTime?: string; id?: string; payload?: Record<string, unknown> } };
  /** Creates or changes a supervisor. */
  "POST /service/indexer/v1/supervisor": { query: { skipRestartIfUnmodified?: boolean }; body: Schemas["SupervisorSpec"]; answer: Schemas["Id"] };
  /** Resumes all supervisors. */
  "POST /service/indexer/v1/supervisor/resumeAll": { answer: { status?: string } };
  /** Suspends all supervisors. */
  "POST /service/indexer/v1/supervisor/suspendAll": { answer: { status?: string } };
  /** Terminates all supervisors. */
  "POST /service/indexer/v1/supervisor/terminateAll": { answer: { status?: string } };
  /** Deletes the offsets of a supervisor, so that it starts over. */
  "POST /service/indexer/v1/supervisor/{id}/reset": { path: { id: string }; answer: Schemas["Id"] };
  /** Sets offsets of a supervisor. */
  "POST /service/indexer/v1/supervisor/{id}/resetOffsets": { path: { id: string }; body: Record<string, unknown> | null; answer: Schemas["Id"] };
  /** Continues at the end of the stream, and reads the skipped records with separate tasks. */
  "POST /service/indexer/v1/supervisor/{id}/resetToLatestAndBackfill": { path: { id: string }; query: { backfillTaskCount?: number }; answer: Record<string, unknown> };
  /** Resumes a supervisor. */
  "POST /service/indexer/v1/supervisor/{id}/resume": { path: { id: string }; answer: Schemas["SupervisorSpec"] };
  /** Terminates a supervisor; the older name of terminate. */
  "POST /service/indexer/v1/supervisor/{id}/shutdown": { path: { id: string }; answer: Schemas["Id"] };
  /** Suspends a supervisor. */
  "POST /service/indexer/v1/supervisor/{id}/suspend": { path: { id: string }; answer: Schemas["SupervisorSpec"] };
  /** Makes task groups publish their rows early. */
  "POST /service/indexer/v1/supervisor/{id}/taskGroups/handoff": { path: { id: string }; body: { taskGroupIds: number[] }; answer: unknown | undefined };
  /** Terminates a supervisor. */
  "POST /service/indexer/v1/supervisor/{id}/terminate": { path: { id: string }; answer: Schemas["Id"] };
  /** Rejected: `taskslots` cannot be a datasource. */
  "DELETE /service/coordinator/v1/config/compaction/taskslots": { answer: undefined };
  /** Ends automatic compaction of a datasource. */
  "DELETE /service/coordinator/v1/config/compaction/{dataSource}": { path: { dataSource: string }; answer: undefined };
  /** Ends automatic compaction of a datasource. */
  "DELETE /service/indexer/v1/compaction/config/datasources/{dataSource}": { path: { dataSource: string }; answer: { success?: boolean } };
  /** Returns how many bytes of a datasource await compaction. */
  "GET /service/coordinator/v1/compaction/progress": { query: { dataSource: string }; answer: { remainingSegmentSize?: number } };
  /** Returns the state of automatic compaction. */
  "GET /service/coordinator/v1/compaction/status": { query: { dataSource?: string }; answer: { latestStatus?: Schemas["CompactionStatus"][] } };
  /** Returns automatic compaction: configurations and task slots. */
  "GET /service/coordinator/v1/config/compaction": { answer: { compactionConfigs?: Schemas["CompactionConfig"][]; compactionTaskSlotRatio?: number; maxCompactionTaskSlots?: number; useAutoScaleSlots?: boolean } };
  /** Rejected: `taskslots` cannot be a datasource. */
  "GET /service/coordinator/v1/config/compaction/taskslots": { answer: undefined };
  /** Returns automatic compaction of a datasource. */
  "GET /service/coordinator/v1/config/compaction/{dataSource}": { path: { dataSource: string }; answer: Schemas["CompactionConfig"] };
  /** Lists changes of automatic compaction of a datasource. */
  "GET /service/coordinator/v1/config/compaction/{dataSource}/history": { path: { dataSource: string }; query: { count?: number; interval?: string }; answer: Schemas["CompactionChange"][] };
  /** Returns the cluster settings of automatic compaction. */
  "GET /service/indexer/v1/compaction/config/cluster": { answer: Schemas["CompactionCluster"] };
  /** Lists configurations of automatic compaction. */
  "GET /service/indexer/v1/compaction/config/datasources": { answer: { compactionConfigs?: Schemas["CompactionConfig"][] } };
  /** Returns automatic compaction of a datasource. */
  "GET /service/indexer/v1/compaction/config/datasources/{dataSource}": { path: { dataSource: string }; answer: Schemas["CompactionConfig"] };
  /** Lists changes of automatic compaction of a datasource. */
  "GET /service/indexer/v1/compaction/config/datasources/{dataSource}/history": { path: { dataSource: string }; query: { count?: number; interval?: string }; answer: { entries?: Schemas["CompactionChange"][] } };
  /** Returns whether supervisors run compaction, instead of the Coordinator. */
  "GET /service/indexer/v1/compaction/isSupervisorEnabled": { answer: unknown };
  /** Returns the state of automatic compaction. */
  "GET /service/indexer/v1/compaction/status/datasources": { answer: { latestStatus?: Schemas["CompactionStatus"][] } };
  /** Returns the state of automatic compaction of a datasource. */
  "GET /service/indexer/v1/compaction/status/datasources/{dataSource}": { path: { dataSource: string }; answer: Schemas["CompactionStatus"] };
  /** Starts a round of automatic compaction. */
  "POST /service/coordinator/v1/compaction/compact": { answer: undefined };
  /** Returns what a configuration would compact. */
  "POST /service/coordinator/v1/compaction/simulate": { body: Schemas["CompactionCluster"]; answer: Record<string, unknown> };
  /** Sets automatic compaction of a datasource. */
  "POST /service/coordinator/v1/config/compaction": { body: Schemas["CompactionConfig"]; answer: undefined };
  /** Sets the cluster settings of automatic compaction. */
  "POST /service/coordinator/v1/config/compaction/cluster": { body: Schemas["CompactionCluster"]; answer: undefined };
  /** Sets how many task slots automatic compaction may use. */
  "POST /service/coordinator/v1/config/compaction/taskslots": { query: { max?: number; ratio?: number; useAutoScaleSlots?: boolean }; answer: undefined };
  /** Sets the cluster settings of automatic compaction. */
  "POST /service/indexer/v1/compaction/config/cluster": { body: Schemas["CompactionCluster"]; answer: { success?: boolean } };
  /** Sets automatic compaction of a datasource. */
  "POST /service/indexer/v1/compaction/config/datasources/{dataSource}": { path: { dataSource: string }; body: Schemas["CompactionConfig"]; answer: { success?: boolean } };
  /** Returns what a configuration would compact. */
  "POST /service/indexer/v1/compaction/simulate": { body: Schemas["CompactionCluster"]; answer: Record<string, unknown> };
  /** Returns the retention rules of all datasources. */
  "GET /service/coordinator/v1/rules": { answer: Record<string, Schemas["RetentionRule"][]> };
  /** Lists changes of retention rules. */
  "GET /service/coordinator/v1/rules/history": { query: { count?: number; interval?: string }; answer: Schemas["AuditEntry"][] };
  /** Returns the retention rules of a datasource, or of _default. */
  "GET /service/coordinator/v1/rules/{dataSource}": { path: { dataSource: string }; query: { full?: string }; answer: Schemas["RetentionRule"][] };
  /** Lists changes of the retention rules of a datasource. */
  "GET /service/coordinator/v1/rules/{dataSource}/history": { path: { dataSource: string }; query: { count?: number; interval?: string }; answer: Schemas["AuditEntry"][] };
  /** Sets all retention rules of a datasource, or of _default. */
  "POST /service/coordinator/v1/rules/{dataSource}": { path: { dataSource: string }; body: Schemas["RetentionRule"][]; answer: undefined };
  /** Lists datasources with used segments. */
  "GET /service/coordinator/v1/datasources": { query: { full?: string; simple?: string }; answer: unknown[] };
  /** Returns properties of a datasource. */
  "GET /service/coordinator/v1/datasources/{dataSource}": { path: { dataSource: string }; query: { full?: string }; answer: Record<string, unknown> | undefined };
  /** Returns whether a Historical serves a segment. */
  "GET /service/coordinator/v1/datasources/{dataSource}/handoffComplete": { path: { dataSource: string }; query: { interval?: string; partitionNumber?: number; version?: string }; answer: boolean };
  /** Lists intervals of used segments of a datasource. */
  "GET /service/coordinator/v1/datasources/{dataSource}/intervals": { path: { dataSource: string }; query: { full?: string; simple?: string }; answer: unknown | undefined };
  /** Lists used segments of an interval of a datasource. */
  "GET /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}": { path: { dataSource: string; interval: string }; query: { full?: string; simple?: string }; answer: unknown | undefined };
  /** Lists the servers of the segments of an interval. */
  "GET /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}/serverview": { path: { dataSource: string; interval: string }; query: { partial?: boolean }; answer: unknown };
  /** Returns the share of a datasource that Historicals serve. */
  "GET /service/coordinator/v1/datasources/{dataSource}/loadstatus": { path: { dataSource: string }; query: { computeUsingClusterView?: string; forceMetadataRefresh: boolean; full?: string; interval?: string; simple?: string }; answer: Record<string, unknown> | undefined };
  /** Lists used segments of a datasource. */
  "GET /service/coordinator/v1/datasources/{dataSource}/segments": { path: { dataSource: string }; query: { full?: string }; answer: unknown[] | undefined };
  /** Returns a used segment and its servers. */
  "GET /service/coordinator/v1/datasources/{dataSource}/segments/{segment}": { path: { dataSource: string; segment: string }; answer: Record<string, unknown> | undefined };
  /** Lists the tiers that hold segments of a datasource. */
  "GET /service/coordinator/v1/datasources/{dataSource}/tiers": { path: { dataSource: string }; answer: string[] | undefined };
  /** Lists intervals of all datasources with bytes and counts. */
  "GET /service/coordinator/v1/intervals": { answer: Record<string, unknown> };
  /** Returns bytes and counts of the segments of an interval. */
  "GET /service/coordinator/v1/intervals/{interval}": { path: { interval: string }; query: { full?: string; simple?: string }; answer: Record<string, unknown> };
  /** Lists datasources in the metadata store. */
  "GET /service/coordinator/v1/metadata/datasources": { query: { full?: string; includeDisabled?: string; includeUnused?: string }; answer: unknown[] };
  /** Returns a datasource with all used segments. */
  "GET /service/coordinator/v1/metadata/datasources/{dataSource}": { path: { dataSource: string }; answer: Record<string, unknown> };
  /** Lists used segments in the metadata store. */
  "GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments": { path: { dataSource: string }; query: { full?: string }; answer: unknown[] };
  /** Returns a segment in the metadata store. */
  "GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments/{segment}": { path: { dataSource: string; segment: string }; query: { includeUnused?: boolean }; answer: Schemas["Segment"] };
  /** Returns the anatomy of the file of a segment: columns, types, encodings, sizes, indexes, statistics. If deep storage is not a directory, only the footer is read, which leaves out the details of encodings. */
  "GET /service/coordinator/v1/metadata/datasources/{dataSource}/segments/{segment}/inspect": { path: { dataSource: string; segment: string }; answer: Schemas["Anatomy"] };
  /** Lists unused segments. */
  "GET /service/coordinator/v1/metadata/datasources/{dataSource}/unusedSegments": { path: { dataSource: string }; query: { interval?: string; lastSegmentId?: string; limit?: number; sortOrder?: string }; answer: unknown[] };
  /** Lists used segments of all datasources. */
  "GET /service/coordinator/v1/metadata/segments": { query: { datasources?: string; includeOvershadowedStatus?: string; includeRealtimeSegments?: string }; answer: Schemas["Segment"][] };
  /** Lists segments that processes load at startup. */
  "POST /service/coordinator/v1/metadata/bootstrapSegments": { answer: unknown };
  /** Lists used segments that overlap any of some intervals. */
  "POST /service/coordinator/v1/metadata/datasources/{dataSource}/segments": { path: { dataSource: string }; query: { full?: string }; body: string[]; answer: unknown[] };
  /** Marks all segments of a datasource unused. */
  "DELETE /service/coordinator/v1/datasources/{dataSource}": { path: { dataSource: string }; query: { interval?: string; kill?: boolean }; answer: unknown };
  /** Deletes unused segments of an interval permanently, with a task. */
  "DELETE /service/coordinator/v1/datasources/{dataSource}/intervals/{interval}": { path: { dataSource: string; interval: string }; answer: undefined };
  /** Marks a segment unused. */
  "DELETE /service/coordinator/v1/datasources/{dataSource}/segments/{segment}": { path: { dataSource: string; segment: string }; answer: Schemas["Marked"] };
  /** Marks all segments of a datasource unused. */
  "DELETE /service/indexer/v1/datasources/{dataSource}": { path: { dataSource: string }; answer: Schemas["MarkedCount"] };
  /** Deletes unused segments of an interval permanently, with a task. */
  "DELETE /service/indexer/v1/datasources/{dataSource}/intervals/{interval}": { path: { dataSource: string; interval: string }; answer: unknown };
  /** Marks a segment unused. */
  "DELETE /service/indexer/v1/datasources/{dataSource}/segments/{segment}": { path: { dataSource: string; segment: string }; answer: Schemas["Marked"] };
  /** Deletes pending segments of a datasource. */
  "DELETE /service/indexer/v1/pendingSegments/{dataSource}": { path: { dataSource: string }; query: { interval?: string }; answer: { numDeleted?: number } };
  /** Marks all segments of a datasource used that are not overshadowed. */
  "POST /service/coordinator/v1/datasources/{dataSource}": { path: { dataSource: string }; answer: Schemas["MarkedCount"] };
  /** Marks segments unused, by interval or by ids. */
  "POST /service/coordinator/v1/datasources/{dataSource}/markUnused": { path: { dataSource: string }; body: Schemas["MarkRequest"]; answer: Schemas["MarkedCount"] | undefined };
  /** Marks segments used, by interval or by ids. */
  "POST /service/coordinator/v1/datasources/{dataSource}/markUsed": { path: { dataSource: string }; body: Schemas["MarkRequest"]; answer: Schemas["MarkedCount"] | undefined };
  /** Marks a segment used. */
  "POST /service/coordinator/v1/datasources/{dataSource}/segments/{segment}": { path: { dataSource: string; segment: string }; answer: Schemas["Marked"] };
  /** Marks all segments of a datasource used that are not overshadowed. */
  "POST /service/indexer/v1/datasources/{dataSource}": { path: { dataSource: string }; answer: Schemas["MarkedCount"] };
  /** Marks segments unused, by interval or by ids. */
  "POST /service/indexer/v1/datasources/{dataSource}/markUnused": { path: { dataSource: string }; body: Schemas["MarkRequest"]; answer: Schemas["MarkedCount"] | undefined };
  /** Marks segments used, by interval or by ids. */
  "POST /service/indexer/v1/datasources/{dataSource}/markUsed": { path: { dataSource: string }; body: Schemas["MarkRequest"]; answer: Schemas["MarkedCount"] | undefined };
  /** Marks a segment used. */
  "POST /service/indexer/v1/datasources/{dataSource}/segments/{segment}": { path: { dataSource: string; segment: string }; answer: Schemas["Marked"] };
  /** Deletes a tier with all its lookups. */
  "DELETE /service/coordinator/v1/lookups/config/{tier}": { path: { tier: string }; answer: undefined };
  /** Deletes a lookup. */
  "DELETE /service/coordinator/v1/lookups/config/{tier}/{lookup}": { path: { tier: string; lookup: string }; answer: undefined };
  /** Drops a lookup from this process. */
  "DELETE /service/listen/v1/lookups/{lookup}": { path: { lookup: string }; answer: Schemas["LookupState"] };
  /** Lists tiers with lookups. */
  "GET /service/coordinator/v1/lookups/config": { query: { discover?: boolean }; answer: string[] };
  /** Returns all lookups of all tiers. */
  "GET /service/coordinator/v1/lookups/config/all": { answer: Record<string, Record<string, Schemas["Lookup"]>> };
  /** Lists the lookups of a tier. */
  "GET /service/coordinator/v1/lookups/config/{tier}": { path: { tier: string }; query: { detailed?: boolean }; answer: unknown };
  /** Returns a lookup. */
  "GET /service/coordinator/v1/lookups/config/{tier}/{lookup}": { path: { tier: string; lookup: string }; answer: Schemas["Lookup"] };
  /** Returns which lookups each server has loaded. */
  "GET /service/coordinator/v1/lookups/nodeStatus": { query: { detailed?: boolean; discover?: boolean }; answer: Record<string, Record<string, Schemas["LookupState"]>> };
  /** Returns which lookups the servers of a tier have loaded. */
  "GET /service/coordinator/v1/lookups/nodeStatus/{tier}": { path: { tier: string }; answer: Record<string, Schemas["LookupState"]> };
  /** Returns which lookups a server has loaded. */
  "GET /service/coordinator/v1/lookups/nodeStatus/{tier}/{node}": { path: { tier: string; node: string }; answer: Schemas["LookupState"] };
  /** Returns the load status of all lookups. */
  "GET /service/coordinator/v1/lookups/status": { query: { detailed?: boolean }; answer: Record<string, Record<string, Schemas["LookupLoaded"]>> };
  /** Returns the load status of the lookups of a tier. */
  "GET /service/coordinator/v1/lookups/status/{tier}": { path: { tier: string }; query: { detailed?: boolean }; answer: Record<string, Schemas["LookupLoaded"]> };
  /** Returns whether all processes have loaded a lookup. */
  "GET /service/coordinator/v1/lookups/status/{tier}/{lookup}": { path: { tier: string; lookup: string }; query: { detailed?: boolean }; answer: Schemas["LookupLoaded"] };
  /** Returns which lookups this process has loaded. */
  "GET /service/listen/v1/lookups": { answer: Schemas["LookupState"] };
  /** Returns a lookup that this process has loaded. */
  "GET /service/listen/v1/lookups/{lookup}": { path: { lookup: string }; answer: unknown };
  /** Lists the lookups that this process has loaded. */
  "GET /service/v1/lookups/introspect": { answer: string[] };
  /** Returns the entries of a lookup that this process has loaded. */
  "GET /service/v1/lookups/introspect/{lookup}": { path: { lookup: string }; answer: Record<string, unknown> };
  /** Returns keys, values or version of a lookup that this process has loaded. */
  "GET /service/v1/lookups/introspect/{lookup}/{part}": { path: { lookup: string; part: string }; answer: unknown };
  /** Sets lookups of several tiers. */
  "POST /service/coordinator/v1/lookups/config": { body: Record<string, Record<string, Schemas["Lookup"]>>; answer: Record<string, unknown> };
  /** Sets a lookup. */
  "POST /service/coordinator/v1/lookups/config/{tier}/{lookup}": { path: { tier: string; lookup: string }; body: Schemas["Lookup"]; answer: undefined };
  /** Loads and drops lookups in this process; used by Coordinators. */
  "POST /service/listen/v1/lookups/updates": { body: Schemas["LookupState"]; answer: Schemas["LookupState"] };
  /** Loads a lookup in this process. */
  "POST /service/listen/v1/lookups/{lookup}": { path: { lookup: string }; body: Schemas["Lookup"]; answer: Schemas["LookupState"] };
  /** Returns the dynamic configuration of Brokers. */
  "GET /service/coordinator/v1/broker/config": { answer: Record<string, unknown> };
  /** Lists changes of the dynamic configuration of Brokers. */
  "GET /service/coordinator/v1/broker/config/history": { query: { count?: number; interval?: string }; answer: Schemas["AuditEntry"][] };
  /** Returns the dynamic configuration of the Coordinator. */
  "GET /service/coordinator/v1/config": { answer: Record<string, unknown> };
  /** Returns the progress of Historicals that are clones. */
  "GET /service/coordinator/v1/config/cloneStatus": { query: { targetServer?: string }; answer: Record<string, unknown> };
  /** Lists changes of the dynamic configuration. */
  "GET /service/coordinator/v1/config/history": { query: { count?: number; interval?: string }; answer: Schemas["AuditEntry"][] };
  /** Lists Brokers that have the current configuration. */
  "GET /service/coordinator/v1/config/syncedBrokers": { answer: Record<string, unknown> };
  /** Sets the dynamic configuration of Brokers. */
  "POST /service/coordinator/v1/broker/config": { body: Record<string, unknown>; answer: undefined };
  /** Sets the dynamic configuration of the Coordinator; omitted members keep their values. */
  "POST /service/coordinator/v1/config": { body: Record<string, unknown>; answer: undefined };
  /** Returns whether the Broker has loaded the inventory of segments. */
  "GET /service/broker/v1/loadstatus": { answer: { inventoryInitialized?: boolean } };
  /** Returns whether the Broker accepts queries, as a status. */
  "GET /service/broker/v1/readiness": { answer: undefined };
  /** Lists the processes of all roles. */
  "GET /service/coordinator/v1/cluster": { query: { full?: string }; answer: Record<string, Record<string, unknown>[]> };
  /** Lists the processes of a role. */
  "GET /service/coordinator/v1/cluster/{role}": { path: { role: string }; query: { full?: string }; answer: Record<string, unknown>[] };
  /** Lists the duties of the Coordinator and their last runs. */
  "GET /service/coordinator/v1/duties": { answer: unknown };
  /** Returns whether the process is the leading Coordinator. */
  "GET /service/coordinator/v1/isLeader": { answer: Schemas["Leader"] };
  /** Returns the address of the leading Coordinator. */
  "GET /service/coordinator/v1/leader": { answer: unknown };
  /** Returns the segments that Historicals will load and drop. */
  "GET /service/coordinator/v1/loadqueue": { query: { full?: string; simple?: string }; answer: Record<string, unknown> };
  /** Returns the share of each datasource that Historicals serve. */
  "GET /service/coordinator/v1/loadstatus": { query: { computeUsingClusterView?: string; full?: string; simple?: string }; answer: Record<string, unknown> };
  /** Lists servers that hold segments. */
  "GET /service/coordinator/v1/servers": { query: { full?: string; simple?: string }; answer: unknown[] };
  /** Returns a server that holds segments. */
  "GET /service/coordinator/v1/servers/{server}": { path: { server: string }; query: { simple?: string }; answer: Record<string, unknown> };
  /** Lists the segments of a server. */
  "GET /service/coordinator/v1/servers/{server}/segments": { path: { server: string }; query: { full?: string }; answer: unknown[] };
  /** Returns a segment of a server. */
  "GET /service/coordinator/v1/servers/{server}/segments/{segment}": { path: { server: string; segment: string }; answer: Record<string, unknown> };
  /** Lists tiers of Historicals. */
  "GET /service/coordinator/v1/tiers": { query: { simple?: string }; answer: unknown };
  /** Lists datasources of a tier. */
  "GET /service/coordinator/v1/tiers/{tier}": { path: { tier: string }; query: { simple?: string }; answer: unknown };
  /** Returns why a segment, datasource, task or supervisor is in its state. Without parameters, returns everything that is not in its desired state. */
  "GET /service/coordinator/v1/why": { query: { datasource?: string; segment?: string; supervisor?: string; task?: string }; answer: { decisions: Schemas["Decision"][] } };
  /** Returns whether the Historical has loaded its segments. */
  "GET /service/historical/v1/loadstatus": { answer: { cacheInitialized?: boolean } };
  /** Returns whether the Historical accepts queries, as a status. */
  "GET /service/historical/v1/readiness": { answer: undefined };
  /** Lists the Brokers that a Router knows. */
  "GET /service/router/v1/brokers": { answer: Record<string, string[]> };
  /** Deletes a user and its password. */
  "DELETE /service-ext/basic-security/authentication/db/{name}/users/{user}": { path: { name: string; user: string }; answer: undefined };
  /** Deletes a group mapping. */
  "DELETE /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}": { path: { name: string; group: string }; answer: undefined };
  /** Removes a role from a group mapping. */
  "DELETE /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}/roles/{role}": { path: { name: string; group: string; role: string }; answer: undefined };
  /** Deletes a role. */
  "DELETE /service-ext/basic-security/authorization/db/{name}/roles/{role}": { path: { name: string; role: string }; answer: undefined };
  /** Deletes a user and its permissions. */
  "DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}": { path: { name: string; user: string }; answer: undefined };
  /** Removes a role from a user. */
  "DELETE /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}": { path: { name: string; user: string; role: string }; answer: undefined };
  /** Returns all users of an authenticator, as processes store them. */
  "GET /service-ext/basic-security/authentication/db/{name}/cachedSerializedUserMap": { path: { name: string }; answer: Record<string, Schemas["AuthenticatorUser"]> };
  /** Lists users of an authenticator. */
  "GET /service-ext/basic-security/authentication/db/{name}/users": { path: { name: string }; answer: string[] };
  /** Returns a user of an authenticator. */
  "GET /service-ext/basic-security/authentication/db/{name}/users/{user}": { path: { name: string; user: string }; query: { full?: string }; answer: Schemas["AuthenticatorUser"] };
  /** Returns which users this process has loaded. */
  "GET /service-ext/basic-security/authentication/loadStatus": { answer: Record<string, boolean> };
  /** Makes all processes reload all users. */
  "GET /service-ext/basic-security/authentication/refreshAll": { answer: undefined };
  /** Returns all group mappings, as processes store them. */
  "GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedGroupMappingMap": { path: { name: string }; answer: { groupMappingMap: Record<string, Schemas["GroupMapping"]>; roleMap: Record<string, Schemas["Role"]> } };
  /** Returns the permissions of all users, as processes store them. */
  "GET /service-ext/basic-security/authorization/db/{name}/cachedSerializedUserMap": { path: { name: string }; answer: { roleMap: Record<string, Schemas["Role"]>; userMap: Record<string, Schemas["AuthorizerUser"]> } };
  /** Lists group mappings. */
  "GET /service-ext/basic-security/authorization/db/{name}/groupMappings": { path: { name: string }; answer: string[] };
  /** Returns a group mapping. */
  "GET /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}": { path: { name: string; group: string }; query: { full?: string }; answer: Schemas["GroupMapping"] };
  /** Lists roles. */
  "GET /service-ext/basic-security/authorization/db/{name}/roles": { path: { name: string }; answer: string[] };
  /** Returns a role. */
  "GET /service-ext/basic-security/authorization/db/{name}/roles/{role}": { path: { name: string; role: string }; query: { full?: string; simplifyPermissions?: string }; answer: Schemas["Role"] };
  /** Returns the limits of a role. */
  "GET /service-ext/basic-security/authorization/db/{name}/roles/{role}/limits": { path: { name: string; role: string }; answer: Schemas["Limits"] };
  /** Lists the permissions of a role. */
  "GET /service-ext/basic-security/authorization/db/{name}/roles/{role}/permissions": { path: { name: string; role: string }; answer: Schemas["Permission"][] };
  /** Lists users of an authorizer. */
  "GET /service-ext/basic-security/authorization/db/{name}/users": { path: { name: string }; answer: string[] };
  /** Returns a user of an authorizer. */
  "GET /service-ext/basic-security/authorization/db/{name}/users/{user}": { path: { name: string; user: string }; query: { full?: string; simplifyPermissions?: string }; answer: Schemas["AuthorizerUser"] };
  /** Returns the limits of a user. */
  "GET /service-ext/basic-security/authorization/db/{name}/users/{user}/limits": { path: { name: string; user: string }; answer: Schemas["Limits"] };
  /** Returns which roles this process has loaded. */
  "GET /service-ext/basic-security/authorization/loadStatus": { answer: Record<string, boolean> };
  /** Makes all processes reload all roles. */
  "GET /service-ext/basic-security/authorization/refreshAll": { answer: undefined };
  /** Creates a user of an authenticator. */
  "POST /service-ext/basic-security/authentication/db/{name}/users/{user}": { path: { name: string; user: string }; answer: undefined };
  /** Sets the password of a user. */
  "POST /service-ext/basic-security/authentication/db/{name}/users/{user}/credentials": { path: { name: string; user: string }; body: { iterations?: number | null; password: string }; answer: undefined };
  /** Receives users from another process. */
  "POST /service-ext/basic-security/authentication/listen/{name}": { path: { name: string }; answer: undefined };
  /** Creates a group mapping. */
  "POST /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}": { path: { name: string; group: string }; body: { groupPattern: string; name: string; roles?: string[] }; answer: undefined };
  /** Assigns a role to a group mapping. */
  "POST /service-ext/basic-security/authorization/db/{name}/groupMappings/{group}/roles/{role}": { path: { name: string; group: string; role: string }; answer: undefined };
  /** Creates a role. */
  "POST /service-ext/basic-security/authorization/db/{name}/roles/{role}": { path: { name: string; role: string }; answer: undefined };
  /** Sets all limits of a role; {} clears them. */
  "POST /service-ext/basic-security/authorization/db/{name}/roles/{role}/limits": { path: { name: string; role: string }; body: Schemas["Limits"]; answer: undefined };
  /** Sets all permissions of a role. */
  "POST /service-ext/basic-security/authorization/db/{name}/roles/{role}/permissions": { path: { name: string; role: string }; body: Schemas["ResourceAction"][]; answer: undefined };
  /** Creates a user of an authorizer. */
  "POST /service-ext/basic-security/authorization/db/{name}/users/{user}": { path: { name: string; user: string }; answer: undefined };
  /** Sets all limits of a user; {} clears them. Limits of a user override limits of roles. */
  "POST /service-ext/basic-security/authorization/db/{name}/users/{user}/limits": { path: { name: string; user: string }; body: Schemas["Limits"]; answer: undefined };
  /** Assigns a role to a user. */
  "POST /service-ext/basic-security/authorization/db/{name}/users/{user}/roles/{role}": { path: { name: string; user: string; role: string }; answer: undefined };
  /** Receives group mappings from another process. */
  "POST /service-ext/basic-security/authorization/listen/groupMappings/{name}": { path: { name: string }; answer: undefined };
  /** Receives roles of users from another process. */
  "POST /service-ext/basic-security/authorization/listen/users/{name}": { path: { name: string }; answer: undefined };
  /** Receives roles of users from another process. */
  "POST /service-ext/basic-security/authorization/listen/{name}": { path: { name: string }; answer: undefined };
  /** Receives a browser from the OpenID Connect provider. */
  "GET /service-ext/access/callback": { query: { code?: string; error?: string; state?: string }; answer: string };
  /** Returns the settings that the command line needs to log in with a device code. */
  "GET /service-ext/access/device": { query: { authenticator?: string }; answer: Record<string, unknown> };
  /** Redirects a browser to the OpenID Connect provider. */
  "GET /service-ext/access/login": { query: { authenticator?: string; return?: string }; answer: undefined };
  /** Returns the user of the request, and where a browser can log in. */
  "GET /service-ext/access/self": { answer: Schemas["Self"] };
  /** Ends the session of a browser. */
  "POST /service-ext/access/logout": { answer: { logoutUrl: string } | undefined };
  /** Revokes an API key. */
  "DELETE /service-ext/access/keys/{id}": { path: { id: string }; answer: undefined };
  /** Lists API keys. */
  "GET /service-ext/access/keys": { answer: Schemas["APIKey"][] };
  /** Returns an API key. */
  "GET /service-ext/access/keys/{id}": { path: { id: string }; answer: Schemas["APIKey"] };
  /** Creates an API key. Only this response contains its secret. */
  "POST /service-ext/access/keys": { body: Schemas["KeyRequest"]; answer: Schemas["APIKey"] };
  /** Creates a new secret for an API key. */
  "POST /service-ext/access/keys/{id}/rotate": { path: { id: string }; body: { overlap?: string }; answer: Schemas["APIKey"] };
  /** Returns what a user or roles see of a datasource or a statement, and why. */
  "POST /service-ext/access/preview": { body: { attributes?: Record<string, string[]>; context?: Record<string, unknown>; dataSource?: string; parameters?: Schemas["SQLParameter"][]; query?: string; roles?: string[]; sample?: number; user?: string }; answer: Schemas["Preview"] };
  /** Ends a session. */
  "DELETE /mcp": { answer: undefined };
  /** Rejected: the server sends no unsolicited messages. */
  "GET /mcp": { answer: undefined };
  /** Receives a message of the Model Context Protocol, and answers requests with one JSON object. */
  "POST /mcp": { body: Schemas["RPCMessage"]; answer: Schemas["RPCAnswer"] | undefined };
  /** Returns a script or a style sheet of the web console. */
  "GET /assets/{name}": { path: { name: string }; answer: string };
  /** Returns the icon of the web console. */
  "GET /favicon.svg": { answer: string };
  /** Returns the page of the web console. */
  "GET /": { answer: string };
  /** Deletes a saved query. */
  "DELETE /service-ext/console/queries/{id}": { path: { id: string }; answer: undefined };
  /** Lists own and shared saved queries, most recently changed first. */
  "GET /service-ext/console/queries": { query: { limit?: number; offset?: number; text?: string }; answer: { queries: Schemas["SavedQuery"][]; total: number } };
  /** Returns a saved query; its ETag is its version. */
  "GET /service-ext/console/queries/{id}": { path: { id: string }; answer: Schemas["SavedQuery"] };
  /** Runs a query and returns its rows as a Parquet file. */
  "POST /service-ext/console/export": { body: Schemas["SQLRequest"]; answer: string };
  /** Saves a query. */
  "POST /service-ext/console/queries": { body: Schemas["SavedQueryRequest"]; answer: Schemas["SavedQuery"] };
  /** Replaces a saved query, if it has not changed in the meantime. */
  "PUT /service-ext/console/queries/{id}": { path: { id: string }; body: Schemas["SavedQueryRequest"]; answer: Schemas["SavedQuery"] };
  /** Returns the progress of a running query. */
  "GET /service-ext/console/progress/{id}": { path: { id: string }; answer: Schemas["QueryProgress"] };
  /** Describes the columns of a datasource from the metadata of segments, without reading rows. */
  "GET /service-ext/console/datasources/{dataSource}/columns": { path: { dataSource: string }; query: { column?: string }; answer: Schemas["DataSourceStatistics"] };
  /** Returns the newest rows of a datasource, and new rows until the client disconnects. */
  "GET /service-ext/console/datasources/{dataSource}/tail": { path: { dataSource: string }; query: { every?: number; rows?: number }; answer: string };
  /** Returns that the process is running, for probes. */
  "GET /healthz": { answer: string };
  /** Returns metrics for Prometheus. */
  "GET /metrics": { answer: string };
  /** Returns this document, with paths under the name service. */
  "GET /openapi.json": { answer: Record<string, unknown> };
  /** Returns whether the process is ready for all requests, otherwise one reason per line; for probes. */
  "GET /readyz": { answer: string };
  /** Returns this document, with paths under the name in the request. */
  "GET /service/openapi.json": { answer: Record<string, unknown> };
  /** Returns version, modules and memory of the process. */
  "GET /status": { answer: Schemas["Status"] };
  /** Returns that the process is running. */
  "GET /status/health": { answer: boolean };
  /** Returns metrics for Prometheus. */
  "GET /status/metrics": { answer: string };
  /** Returns the configured settings, without secrets. */
  "GET /status/properties": { answer: Record<string, string> };
  /** Returns whether the process is ready for all requests. */
  "GET /status/ready": { answer: boolean };
  /** Returns whether other processes have discovered this process, as a status. */
  "GET /status/selfDiscovered": { answer: undefined };
  /** Returns whether other processes have discovered this process. */
  "GET /status/selfDiscovered/status": { answer: { selfDiscovered?: boolean } };
  /** Returns whether the Router forwards management requests. */
  "GET /proxy/enabled": { answer: { enabled?: boolean } };
}
