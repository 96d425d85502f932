package config

// Properties is the one list of settings, in the order of the documentation.
var Properties = []Property{
	// Names and listeners.
	{Key: "service.api.aliases", Kind: List, Default: "[]", Doc: "Further names under which the same interface is served beside `service`: in paths, headers, property names and the SQL schema. Clients of the reference system need `[\"druid\"]`."},
	{Key: "service.host", Kind: Text, Default: "", Doc: "Name or address other processes reach this one by. Empty: `localhost`, and the listeners are bound to the loopback interface only."},
	{Key: "service.bindOnHost", Kind: Bool, Default: "false", Doc: "Bind the listeners to the address of `service.host` only, instead of all interfaces."},
	{Key: "service.enablePlaintextPort", Kind: Bool, Default: "true", Doc: "Listen for plain HTTP."},
	{Key: "service.router.plaintextPort", Kind: Int, Default: "8888", Doc: "Port of the Router; 0 takes a free one, -1 none."},
	{Key: "service.coordinator.plaintextPort", Kind: Int, Default: "8081", Doc: "Port of the Coordinator; 0 takes a free one, -1 none."},
	{Key: "service.broker.plaintextPort", Kind: Int, Default: "8082", Doc: "Port of the Broker; 0 takes a free one, -1 none."},
	{Key: "service.historical.plaintextPort", Kind: Int, Default: "8083", Doc: "Port of the Historical; 0 takes a free one, -1 none."},
	{Key: "service.overlord.plaintextPort", Kind: Int, Default: "8090", Doc: "Port of the Overlord; 0 takes a free one, -1 none."},
	{Key: "service.indexer.plaintextPort", Kind: Int, Default: "8091", Doc: "Port of the worker that runs tasks; 0 takes a free one, -1 none."},
	{Key: "service.plaintextPort", Kind: Int, Default: "", Doc: "Port of a process with one role; takes the place of that role's own property."},
	{Key: "service.labels", Kind: JSON, Default: "{}", Doc: "Free labels of this process, a JSON object of text, shown in sys.servers."},

	// Where data lies.
	{Key: "service.data.dir", Kind: Text, Default: "./henge-data", Doc: "Directory that holds everything a single process keeps: metastore, deep storage, segment cache, task files. Locked while in use."},
	{Key: "service.metadata.storage.type", Kind: Text, Default: "sqlite", Doc: "Metadata store: `sqlite` (one process) or `postgresql`."},
	{Key: "service.metadata.storage.connector.connectURI", Kind: Text, Default: "", Doc: "Address of the metadata store. Empty with `sqlite`: `metastore.db` in the data directory."},
	{Key: "service.metadata.storage.connector.user", Kind: Text, Default: "", Doc: "User for the metadata store."},
	{Key: "service.metadata.storage.connector.password", Kind: Text, Default: "", Secret: true, Doc: "Password for the metadata store; `{\"type\":\"environment\",\"variable\":\"NAME\"}` takes it from the environment."},
	{Key: "service.storage.type", Kind: Text, Default: "local", Doc: "Deep storage: `local` or `s3`."},
	{Key: "service.storage.bucket", Kind: Text, Default: "", Doc: "Bucket of deep storage `s3`."},
	{Key: "service.storage.baseKey", Kind: Text, Default: "", Doc: "Prefix of all keys in deep storage `s3`."},
	{Key: "service.s3.accessKey", Kind: Text, Default: "", Secret: true, Doc: "Access key of deep storage `s3` and of exports to it. Empty: the credentials of the machine."},
	{Key: "service.s3.secretKey", Kind: Text, Default: "", Secret: true, Doc: "Secret key of deep storage `s3`."},
	{Key: "service.s3.endpoint.url", Kind: Text, Default: "", Doc: "URL of a store that speaks the S3 protocol. Empty: the public service."},
	{Key: "service.s3.endpoint.signingRegion", Kind: Text, Default: "", Doc: "Region of deep storage `s3`. Empty: that of the machine, or `us-east-1`."},
	{Key: "service.storage.storageDirectory", Kind: Text, Default: "", Doc: "Directory of local deep storage. Empty: `segments` in the data directory."},
	{Key: "service.segmentCache.directory", Kind: Text, Default: "", Doc: "Directory of the Historical's segment cache. Empty: `cache` in the data directory."},
	{Key: "service.server.maxSize", Kind: Bytes, Default: "300000000000", Doc: "Bytes of segments a Historical may hold."},
	{Key: "service.server.tier", Kind: Text, Default: "_default_tier", Doc: "Tier of a Historical."},
	{Key: "service.server.priority", Kind: Int, Default: "0", Doc: "Priority of a Historical among those that hold the same segment."},

	// Resources.
	{Key: "service.memory.limit", Kind: Bytes, Default: "60%", Doc: "The one memory number: everything that buffers reserves from it, spills beyond its share and is refused before it would be broken."},
	{Key: "service.processing.numThreads", Kind: Int, Default: "0", Doc: "Threads that work on queries; 0: one per core."},
	{Key: "service.processing.tmpDir", Kind: Text, Default: "", Doc: "Directory for spill files. Empty: `spill` in the data directory."},
	{Key: "service.processing.maxSpillBytes", Kind: Bytes, Default: "100GB", Doc: "Bytes that all spill files together may take."},
	{Key: "service.worker.capacity", Kind: Int, Default: "0", Doc: "Tasks that run at once; 0: one less than the cores, at least 2."},

	// Queries.
	{Key: "service.server.http.defaultQueryTimeout", Kind: Int, Default: "300000", Doc: "Milliseconds a query may take when its context sets no `timeout`; 0: any time."},
	{Key: "service.server.http.maxQueryTimeout", Kind: Int, Default: "9223372036854775807", Doc: "Longest `timeout`, in milliseconds, that a query may ask for."},
	{Key: "service.server.http.errorFormat", Kind: Text, Default: "union", Doc: "Error bodies: `union` holds the members that old and new clients read, `modern` those of new ones only."},
	{Key: "service.server.http.maxRequestBytes", Kind: Bytes, Default: "64MiB", Doc: "Largest request body."},
	{Key: "service.query.default.context.<name>", Kind: Text, Default: "", Doc: "Default of a query context parameter."},
	{Key: "service.sql.enable", Kind: Bool, Default: "true", Doc: "Serve SQL."},
	{Key: "service.sql.planner.sqlTimeZone", Kind: Text, Default: "UTC", Doc: "Time zone of queries that set none."},
	{Key: "service.query.scheduler.numThreads", Kind: Int, Default: "0", Doc: "Queries that may run at once; more are refused with 429. 0: any number."},
	{Key: "service.router.http.readTimeout", Kind: Duration, Default: "PT15M", Doc: "How long the Router waits for an answer."},
	{Key: "service.router.managementProxy.enabled", Kind: Bool, Default: "true", Doc: "Serve Coordinator and Overlord paths on the Router."},

	// Tasks.
	{Key: "service.indexer.queue.maxSize", Kind: Int, Default: "2147483647", Doc: "Active tasks the Overlord accepts; more are refused with 429."},
	{Key: "service.indexer.storage.recentlyFinishedThreshold", Kind: Duration, Default: "PT24H", Doc: "How long finished tasks stay in lists."},
	{Key: "service.indexer.logs.kill.enabled", Kind: Bool, Default: "false", Doc: "Delete old task logs, reports and results."},
	{Key: "service.indexer.logs.kill.durationToRetain", Kind: Duration, Default: "P30D", Doc: "Age at which task logs, reports and results are deleted, when that is on."},
	{Key: "service.msq.intermediate.storage.enable", Kind: Bool, Default: "true", Doc: "Allow `selectDestination=durableStorage`: results of statements are kept as pages in deep storage."},
	{Key: "service.export.storage.baseDir", Kind: Text, Default: "", Doc: "Directory that `INSERT INTO EXTERN(local(..))` may write to, or below it. Empty: such exports are refused."},
	{Key: "service.export.storage.s3.allowedExportPaths", Kind: List, Default: "[]", Doc: "Prefixes, as `s3://bucket/path`, that `INSERT INTO EXTERN(s3(..))` may write to, or below them. The store is that of `service.s3`."},
	{Key: "service.export.storage.google.allowedExportPaths", Kind: List, Default: "[]", Doc: "Prefixes, as `gs://bucket/path`, that `INSERT INTO EXTERN(google(..))` may write to, or below them."},
	{Key: "service.google.accessKey", Kind: Text, Default: "", Secret: true, Doc: "HMAC access key for exports to Google's storage, which is used by its S3 form."},
	{Key: "service.google.secretKey", Kind: Text, Default: "", Secret: true, Doc: "HMAC secret for exports to Google's storage."},
	{Key: "service.ingest.local.allowedPaths", Kind: List, Default: "[\"/\"]", Doc: "Directories that the `local` input source may read. Anything below them is allowed."},
	{Key: "service.ingestion.http.allowedProtocols", Kind: List, Default: "[\"http\",\"https\"]", Doc: "Protocols of the `http` input source and of endpoints of object stores."},
	{Key: "service.ingestion.http.allowedHeaders", Kind: List, Default: "[]", Doc: "Names of request headers that the `http` input source may send, in any case."},
	{Key: "service.ingest.http.allowPrivate", Kind: Bool, Default: "true", Doc: "Let the `http` input source reach loopback and private addresses."},

	// Lookups.
	{Key: "service.lookup.lookupTier", Kind: Text, Default: "__default", Doc: "Tier of the lookups that this process holds."},
	{Key: "service.manager.lookups.period", Kind: Duration, Default: "PT120S", Doc: "How often the Coordinator tells processes their lookups again, beside at once when they change."},

	// Duties.
	{Key: "service.coordinator.period", Kind: Duration, Default: "PT60S", Doc: "How often the Coordinator looks at all datasources beside what changes tell it."},
	{Key: "service.coordinator.period.indexingPeriod", Kind: Duration, Default: "PT1800S", Doc: "How often the Coordinator looks for what to compact and to kill, beside what changes tell it."},
	{Key: "service.query.segmentMetadata.defaultHistory", Kind: Duration, Default: "P7D", Doc: "How far back the Broker's datasource description looks when no interval is given."},

	// Logs.
	{Key: "service.log.level", Kind: Text, Default: "info", Doc: "Least level of log lines: debug, info, warn or error."},
	{Key: "service.log.format", Kind: Text, Default: "text", Doc: "Form of log lines: text or json."},
	{Key: "service.server.hiddenProperties", Kind: List, Default: `["service.s3.accessKey","service.s3.secretKey","service.metadata.storage.connector.password","password","key","token","pwd"]`, Doc: "Properties left out of /status/properties: those whose name contains an entry, in any case."},
	{Key: "service.extensions.loadList", Kind: List, Default: "[]", Doc: "Accepted for compatibility: everything is built in."},
}
