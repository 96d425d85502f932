package api

import (
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/segment"
)

// The parts of a native spec, as far as a row changes one member of them.
func inIO(text string) string          { return `{"spec":{"ioConfig":` + text + `}}` }
func inSchema(text string) string      { return `{"spec":{"dataSchema":` + text + `}}` }
func inTuning(text string) string      { return `{"spec":{"tuningConfig":` + text + `}}` }
func inFormat(text string) string      { return inIO(`{"inputFormat":` + text + `}`) }
func inDimensions(text string) string  { return inSchema(`{"dimensionsSpec":` + text + `}`) }
func inTime(text string) string        { return inSchema(`{"timestampSpec":` + text + `}`) }
func inGranularity(text string) string { return inSchema(`{"granularitySpec":` + text + `}`) }
func inPartitions(text string) string  { return inTuning(`{"partitionsSpec":` + text + `}`) }

// rowsWorthIndexing are as many rows of one day as a segment with bitmap indexes has.
func rowsWorthIndexing() string {
	var rows strings.Builder
	for n := range segment.WorthIndexing {
		fmt.Fprintf(&rows, `{"t":"2024-01-01T00:00:00Z","k":"%d"}`+"\n", n%100)
	}
	return fmt.Sprintf(`{"spec":{"ioConfig":{"inputSource":{"data":%q}},"dataSchema":{"granularitySpec":{"rollup":false}}}}`, rows.String())
}

const (
	csvLines = `"inputSource":{"type":"inline","data":"t;k;m\n2024-01-01,a,1|2\n2024-01-01,b,3\n"}`
	twoDays  = `{"granularitySpec":{"intervals":["2024-01-01/2024-01-03"]}}`
	firstDay = `"transformSpec":{"filter":{"type":"interval","dimension":"__time","intervals":["2024-01-01/2024-01-02"]}}`
	perfect  = `{"spec":{"tuningConfig":{"forceGuaranteedRollup":true},` +
		`"dataSchema":{"granularitySpec":{"intervals":["2024-01-01/2024-01-03"]}}}}`
	hours     = `{"spec":{"dataSchema":{"granularitySpec":{"segmentGranularity":"HOUR"}}}}`
	compacted = "internal/duty/compact/state_test.go"
	scheduled = "internal/duty/compact/scheduler_test.go"
	objects   = "internal/ingest/objects_test.go"
	formats   = "internal/ingest/formats_test.go"
	registers = "internal/ingest/registry_test.go"
	readers   = "internal/ingest/reader_test.go"
	flattened = "internal/ingest/flatten_test.go"
	batches   = "internal/ingest/spec/batch_test.go"
)

var specMembers = slicesOfRows(ioRows, schemaRows, dimensionRows, tuningRows, partitionRows, compactionRows, formatRows, sourceRows,
	automaticRows)

func slicesOfRows(parts ...[]specMember) (out []specMember) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

var ioRows = []specMember{
	{members: "index.type index.dataSchema index.ioConfig index.tuningConfig", elsewhere: batches},
	{members: "index.inputSource", with: inIO(`{"inputSource":{"data":"{\"t\":\"2024-01-05\",\"k\":\"other\"}"}}`)},
	{members: "index.inputFormat", with: inFormat(`{"type":"lines"}`)},
	{members: "index.firehose", with: inIO(`{"firehose":{"type":"local"}}`), refused: true},
	{members: "index.appendToExisting", with: inIO(`{"appendToExisting":true}`)},
	{members: "index.dropExisting", with: inIO(`{"dropExisting":true}`),
		beside: `{"spec":{"dataSchema":{"granularitySpec":{"intervals":["2024-01-01/2024-01-03"]},` + firstDay + `}}}`},
}

var schemaRows = []specMember{
	{members: "schema.dataSource schema.timestampSpec schema.type", elsewhere: batches},
	{members: "schema.dimensionsSpec", with: inDimensions(`{"dimensions":["k"]}`)},
	{members: "schema.metricsSpec schema.fieldName", with: inSchema(`{"metricsSpec":[{"type":"count","name":"c"},{"type":"longSum",` +
		`"name":"n","fieldName":"x"}]}`)},
	{members: "schema.name", with: inSchema(`{"metricsSpec":[{"type":"count","name":"d"},{"type":"longSum","name":"n",` +
		`"fieldName":"n"}]}`)},
	{members: "schema.fieldNames", beside: inSchema(`{"dimensionsSpec":{"dimensions":[]},"metricsSpec":[{"type":"cardinality",` +
		`"name":"c","fields":["k"]}]}`),
		with: inSchema(`{"metricsSpec":[{"type":"cardinality","name":"c","fieldNames":["u"]}]}`)},
	{members: "schema.fields", beside: inSchema(`{"dimensionsSpec":{"dimensions":[]},"metricsSpec":[{"type":"cardinality","name":"c",` +
		`"fields":["k"]}]}`),
		with: inSchema(`{"metricsSpec":[{"type":"cardinality","name":"c","fields":["u"]}]}`)},
	{members: "schema.aggregator metric.aggregator", with: inSchema(`{"metricsSpec":[{"type":"filtered","filter":{"type":"selector",` +
		`"dimension":"k","value":"a"},` +
		`"aggregator":{"type":"longSum","name":"n","fieldName":"n"}}]}`)},
	{members: "metric.type metric.fieldName", with: inSchema(`{"metricsSpec":[{"type":"count","name":"c"},{"type":"doubleMax",` +
		`"name":"n","fieldName":"s"}]}`)},
	{members: "metric.timeColumn", beside: inSchema(`{"metricsSpec":[{"type":"longFirst","name":"n","fieldName":"n"}],` +
		`"granularitySpec":{"queryGranularity":"HOUR"},` +
		`"transformSpec":{"transforms":[{"type":"expression","name":"ut","expression":"timestamp_parse(u)"}]}}`),
		with: inSchema(`{"metricsSpec":[{"type":"longFirst","name":"n","fieldName":"n","timeColumn":"ut"}]}`)},
	{members: "schema.granularitySpec schema.segmentGranularity", with: inGranularity(`{"segmentGranularity":"HOUR"}`)},
	{members: "schema.queryGranularity", with: inGranularity(`{"queryGranularity":"HOUR"}`)},
	{members: "schema.rollup", with: inGranularity(`{"rollup":false}`)},
	{members: "schema.intervals", with: inGranularity(`{"intervals":["2024-01-01/2024-01-02"]}`)},
	{members: "schema.transformSpec schema.filter", with: inSchema(`{` + firstDay + `}`)},
	{members: "schema.transforms", with: inSchema(`{"transformSpec":{"transforms":[{"type":"expression","name":"k",` +
		`"expression":"concat(k, '!')"}]}}`)},
	{members: "schema.parser", with: inSchema(`{"parser":{"type":"string"}}`), refused: true},
	{members: "timestamp.column", with: inTime(`{"column":"u"}`)},
	{members: "timestamp.format", with: inTime(`{"format":"yyyy-MM-dd"}`)},
	{members: "timestamp.missingValue", with: inTime(`{"missingValue":"2024-01-07"}`)},
}

var dimensionRows = []specMember{
	{members: "dimensions.dimensions dimensions.name", with: inDimensions(`{"dimensions":["k","u"]}`)},
	{members: "dimensions.type", with: inDimensions(`{"dimensions":["k",{"type":"double","name":"m"}]}`)},
	{members: "dimensions.multiValueHandling", with: inDimensions(`{"dimensions":["k",{"type":"string","name":"m",` +
		`"multiValueHandling":"SORTED_SET"}]}`)},
	{members: "dimensions.createBitmapIndex", beside: rowsWorthIndexing(), with: inDimensions(`{"dimensions":[{"type":"string","name":"k",` +
		`"createBitmapIndex":false},"m"]}`)},
	{members: "dimensions.castToType", beside: inDimensions(`{"dimensions":[{"type":"auto","name":"x"}]}`),
		with: inDimensions(`{"dimensions":[{"type":"auto","name":"x","castToType":"STRING"}]}`)},
	{members: "dimensions.dims", beside: inDimensions(`{"dimensions":[{"type":"spatial","name":"p"}]}`),
		with: inDimensions(`{"dimensions":[{"type":"spatial","name":"p","dims":["x","y"]}]}`)},
	{members: "dimensions.spatialDimensions dimensions.dimName",
		with: inDimensions(`{"spatialDimensions":[{"dimName":"p","dims":["x","y"]}]}`)},
	{members: "dimensions.dimensionExclusions", beside: inDimensions(`{"dimensions":[]}`),
		with: inDimensions(`{"dimensionExclusions":["k"]}`)},
	{members: "dimensions.includeAllDimensions", with: inDimensions(`{"includeAllDimensions":true}`)},
	{members: "dimensions.useSchemaDiscovery", beside: inDimensions(`{"dimensions":[]}`),
		with: inDimensions(`{"useSchemaDiscovery":true}`)},
	{members: "dimensions.forceSegmentSortByTime", elsewhere: "test/api/batch_test.go"},
	{members: "dimensions.keepNullColumns", beside: inDimensions(`{"dimensions":[]}`), with: inFormat(`{"keepNullColumns":true}`)},
	{members: "dimensions.flattenSpec dimensions.fields", beside: inDimensions(`{"dimensions":[]}`),
		with: inFormat(`{"flattenSpec":{"fields":[{"type":"path","name":"q","expr":"$.o.p[1]"}]}}`)},
	{members: "dimensions.useFieldDiscovery", beside: inDimensions(`{"dimensions":[]}`), /* all are found */
		with: inFormat(`{"flattenSpec":{"useFieldDiscovery":false,"fields":["k"]}}`)},
}

var tuningRows = []specMember{
	{members: "tuning.type", elsewhere: batches},
	{members: "tuning.maxRowsPerSegment", with: inTuning(`{"maxRowsPerSegment":1}`)},
	{members: "tuning.numShards", beside: perfect, with: inTuning(`{"numShards":2}`)},
	{members: "tuning.partitionDimensions", beside: mustMerge(perfect, inTuning(`{"numShards":3}`)),
		with: inTuning(`{"partitionDimensions":["k"]}`)},
	{members: "tuning.partitionsSpec", with: inPartitions(`{"type":"dynamic","maxRowsPerSegment":1}`)},
	{members: "tuning.forceGuaranteedRollup", with: inTuning(`{"forceGuaranteedRollup":true}`)},
	{members: "tuning.reportParseExceptions", with: inTuning(`{"reportParseExceptions":true}`)},
	{members: "tuning.logParseExceptions", with: inTuning(`{"logParseExceptions":true}`)},
	{members: "tuning.maxParseExceptions", with: inTuning(`{"maxParseExceptions":0}`)},
	{members: "tuning.maxSavedParseExceptions", with: inTuning(`{"maxSavedParseExceptions":3}`)},
	{members: "tuning.maxNumConcurrentSubTasks", elsewhere: "test/api/chat_test.go"},
	{members: "tuning.maxNumSubTasks", elsewhere: batches},
	{members: "tuning.awaitSegmentAvailabilityTimeoutMillis", with: inTuning(`{"awaitSegmentAvailabilityTimeoutMillis":60000}`)},
	{members: "tuning.maxAllowedLockCount", with: inTuning(`{"maxAllowedLockCount":1}`)},
	{members: "tuning.appendableIndexSpec tuning.maxRowsInMemory tuning.maxBytesInMemory tuning.skipBytesInMemoryOverheadCheck " +
		"tuning.maxTotalRows " +
		"tuning.splitHintSpec tuning.maxNumFiles tuning.maxNumSegments tuning.indexSpec tuning.bucketSize tuning.formatVersion " +
		"tuning.indexSpecForIntermediatePersists tuning.maxPendingPersists tuning.pushTimeout tuning.segmentWriteOutMediumFactory " +
		"tuning.maxRetry " +
		"tuning.taskStatusCheckPeriodMs tuning.chatHandlerTimeout tuning.chatHandlerNumRetries tuning.maxNumSegmentsToMerge " +
		"tuning.totalNumMergeTasks " +
		"tuning.maxColumnsToMerge partitions.maxTotalRows partitions.assumeGrouped partitions.partitionFunction", without: true},
}

var partitionRows = []specMember{
	{members: "partitions.type partitions.numShards", beside: perfect, with: inPartitions(`{"type":"hashed","numShards":3}`)},
	{members: "partitions.maxRowsPerSegment", beside: mustMerge(perfect, inPartitions(`{"type":"hashed"}`)),
		with: inPartitions(`{"maxRowsPerSegment":1}`)},
	{members: "partitions.maxPartitionSize", beside: mustMerge(perfect, inPartitions(`{"type":"hashed"}`)),
		with: inPartitions(`{"maxPartitionSize":1}`)},
	{members: "partitions.targetRowsPerSegment", beside: mustMerge(perfect, inPartitions(`{"type":"hashed"}`)),
		with: inPartitions(`{"targetRowsPerSegment":1}`)},
	{members: "partitions.targetPartitionSize", beside: mustMerge(perfect, inPartitions(`{"type":"hashed"}`)),
		with: inPartitions(`{"targetPartitionSize":1}`)},
	{members: "partitions.partitionDimension", beside: perfect, with: inPartitions(`{"type":"single_dim","partitionDimension":"k",` +
		`"targetRowsPerSegment":1}`)},
	{members: "partitions.partitionDimensions", beside: perfect, with: inPartitions(`{"type":"range","partitionDimensions":["k"],` +
		`"targetRowsPerSegment":1}`)},
}

var compactionRows = []specMember{
	{members: "compaction.type compaction.compactionRunner compaction.inputSpec compaction.name", elsewhere: batches},
	{members: "compaction.context", elsewhere: "test/api/compact_concurrent_test.go"},
	{members: "compaction.itvl compaction.ver compaction.part", elsewhere: "test/api/compact_test.go"},
	{members: "compaction.segments", elsewhere: batches},
	{members: "compaction.identifier", elsewhere: "internal/ingest/spec/compaction_test.go"},
	{members: "compaction.ioConfig", compacts: true, with: `{"ioConfig":{"inputSpec":{"interval":"2024-01-02/2024-01-03"}}}`,
		first: hours},
	{members: "compaction.interval", compacts: true, with: `{"ioConfig":null,"interval":"2024-01-02/2024-01-03",` +
		`"granularitySpec":{"queryGranularity":"YEAR"}}`,
		beside: `{"granularitySpec":{"queryGranularity":"YEAR"}}`},
	{members: "compaction.sha256OfSortedSegmentIds", compacts: true,
		with: `{"ioConfig":{"inputSpec":{"sha256OfSortedSegmentIds":"other"}}}`},
	{members: "compaction.dropExisting", compacts: true, with: `{"ioConfig":{"dropExisting":true}}`,
		beside: `{"transformSpec":{"filter":{"type":"selector","dimension":"k","value":"a"}}}`},
	{members: "compaction.dimensionsSpec", compacts: true, with: `{"dimensionsSpec":{"dimensions":["k"]}}`},
	{members: "compaction.dimensions", compacts: true, with: `{"dimensions":{"dimensions":["k"]}}`},
	{members: "compaction.metricsSpec", compacts: true, with: `{"metricsSpec":[{"type":"longSum","name":"c","fieldName":"c"}]}`},
	{members: "compaction.transformSpec compaction.filter", compacts: true,
		with: `{"transformSpec":{"filter":{"type":"selector","dimension":"k","value":"a"}}}`},
	{members: "compaction.transforms", compacts: true, with: `{"transformSpec":{"transforms":[{"type":"expression","name":"k",` +
		`"expression":"concat(k, '!')"}]}}`},
	{members: "compaction.granularitySpec compaction.queryGranularity", compacts: true,
		with: `{"granularitySpec":{"queryGranularity":"DAY"}}`},
	{members: "compaction.rollup", compacts: true, with: `{"granularitySpec":{"rollup":true}}`, first: inGranularity(`{"rollup":false}`)},
	{members: "compaction.segmentGranularity", compacts: true, with: `{"granularitySpec":{"segmentGranularity":"MONTH"}}`},
	{members: "compaction.tuningConfig", compacts: true, with: `{"tuningConfig":{"type":"index_parallel","maxRowsPerSegment":1}}`},
	{members: "compaction.allowNonAlignedInterval", without: true},
}

var formatRows = []specMember{
	{members: "flatten.type flatten.name flatten.expr flatten.nodes flatten.useFieldDiscovery flatten.fields", elsewhere: flattened},
	{members: "format_avro.type format_avro.flattenSpec format_avro.schema format_avro.avroBytesDecoder format_avro.binaryAsString " +
		"format_avro.extractUnionsByType " +
		"format_avro.schemas format_protobuf.type format_protobuf.descriptor " +
		"format_protobuf.descriptorString format_protobuf.protoMessageType format_parquet.type format_parquet.flattenSpec " +
		"format_parquet.binaryAsString", elsewhere: formats},
	{members: "format_json.type format_json.flattenSpec", elsewhere: flattened},
	{members: "format_json.featureSpec", with: inFormat(`{"featureSpec":{"STRICT_DUPLICATE_DETECTION":true}}`),
		beside: inIO(`{"inputSource":{"data":"{\"t\":\"2024-01-05\",\"k\":\"a\",\"k\":\"b\"}"}}`)},
	{members: "format_json.keepNullColumns", beside: inDimensions(`{"dimensions":null}`), with: inFormat(`{"keepNullColumns":true}`)},
	{members: "format_json.assumeNewlineDelimited format_json.useJsonNodeReader", without: true},
	{members: "format_delimited.type", elsewhere: formats},
	{members: "format_delimited.columns", beside: inIO(`{` + csvLines + `,"inputFormat":{"type":"csv","columns":["t","k"]}}`),
		with: inFormat(`{"columns":["t","k","m"]}`)},
	{members: "format_delimited.listDelimiter", beside: inIO(`{` + csvLines + `,"inputFormat":{"type":"csv","columns":["t","k","m"]}}`),
		with: inFormat(`{"listDelimiter":"|"}`)},
	{members: "format_delimited.delimiter", beside: inIO(`{` + csvLines + `,"inputFormat":{"type":"tsv","columns":["t","k","m"]}}`),
		with: inFormat(`{"delimiter":","}`)},
	{members: "format_delimited.findColumnsFromHeader", beside: inIO(`{"inputSource":{"data":"t,k,m\n2024-01-01,a,1"},` +
		`"inputFormat":{"type":"csv","columns":["t","m","k"]}}`),
		with: inFormat(`{"findColumnsFromHeader":true}`)},
	{members: "format_delimited.hasHeaderRow", beside: inIO(`{"inputSource":{"data":"t,k,m\n2024-01-01,a,1"},` +
		`"inputFormat":{"type":"csv","columns":["t","m","k"]}}`),
		with: inFormat(`{"hasHeaderRow":true}`)},
	{members: "format_delimited.skipHeaderRows", beside: inIO(`{` + csvLines + `,"inputFormat":{"type":"csv","columns":["t","k","m"]}}`),
		with: inFormat(`{"skipHeaderRows":1}`)},
	{members: "format_delimited.tryParseNumbers", with: inFormat(`{"tryParseNumbers":true}`),
		beside: `{"spec":{"ioConfig":{"inputSource":{"data":"2024-01-01,a,1\n2024-01-01,b,2"},"inputFormat":{"type":"csv",` +
			`"columns":["t","k","m"]}},` +
			`"dataSchema":{"dimensionsSpec":{"dimensions":null,"useSchemaDiscovery":true}}}}`},
	{members: "format_regex.type format_regex.pattern format_regex.listDelimiter format_regex.columns", elsewhere: formats},
	{members: "registry.schema registry.schemaType registry.references registry.name registry.subject registry.version " +
		"registry.config " +
		"registry.url registry.urls registry.capacity registry.headers", elsewhere: registers},
}

var sourceRows = []specMember{
	{members: "source_sent.type source_sent.data source_local.type source_local.baseDir source_local.filter source_local.files " +
		"source_combining.type " +
		"source_combining.delegates source_datasource.type source_datasource.dataSource source_datasource.interval " +
		"source_datasource.segments " +
		"source_datasource.filter source_http.type source_http.uris", elsewhere: readers},
	{members: "source_sent.ids", elsewhere: "test/api/uploads_test.go"},
	{members: "source_sent.systemFields", elsewhere: "internal/ingest/hdfs_test.go"},
	{members: "source_datasource.dimensions source_datasource.metrics", elsewhere: "test/api/reindex_test.go"},
	{members: "source_local.systemFields source_http.systemFields", elsewhere: "internal/ingest/source_test.go"},
	{members: "source_http.httpAuthenticationUsername source_http.httpAuthenticationPassword " +
		"source_http.requestHeaders", elsewhere: readers},
	{members: "source_hdfs.type source_hdfs.paths source_hdfs.systemFields", elsewhere: "internal/ingest/hdfs_test.go"},
	{members: "source_objects.type source_objects.uris source_objects.prefixes source_objects.objects source_objects.objectGlob " +
		"source_objects.filter " +
		"source_objects.systemFields source_objects.properties source_objects.endpointConfig source_objects.bucket source_objects.path " +
		"source_objects.url " +
		"source_objects.signingRegion", elsewhere: objects},
	{members: "source_objects.clientConfig source_objects.proxyConfig", without: true},
	{members: "source_sql.type source_sql.connectorConfig source_sql.connectURI source_sql.user source_sql.password source_sql.sqls " +
		"source_sql.foldCase source_sql.database",
		elsewhere: "internal/ingest/mysql_test.go"},
	{members: "store_azure.account store_azure.key store_azure.appRegistrationClientId store_azure.appRegistrationClientSecret " +
		"store_azure.tenantId store_azure.authorityHost store_azure_app.access_token store_azure_app.expires_in store_azure_app.error " +
		"store_s3.accessKeyId " +
		"store_s3.secretAccessKey", elsewhere: objects},
	{members: "store_s3.sessionToken store_s3.assumeRoleArn store_s3.assumeRoleExternalId store_azure.sharedAccessStorageToken",
		elsewhere: "internal/ingest/credentials_test.go"},
}

var automaticRows = []specMember{
	{members: "auto_config.dataSource auto_config.taskPriority auto_config.inputSegmentSizeBytes auto_config.maxRowsPerSegment " +
		"auto_config.skipOffsetFromLatest " +
		"auto_config.skipIntervals auto_config.engine auto_config.taskContext auto_config.dropExisting", elsewhere: scheduled},
	{members: "auto_config.tuningConfig auto_config.granularitySpec auto_config.dimensionsSpec auto_config.metricsSpec " +
		"auto_config.transformSpec auto_config.ioConfig " +
		"auto_config.segmentGranularity auto_config.queryGranularity auto_config.rollup auto_config.filter auto_config.partitionsSpec " +
		"auto_config.type auto_config.name " +
		"auto_config.fieldName auto_config.expression auto_dimension.dimensions auto_dimension.type auto_dimension.name " +
		"auto_dimension.multiValueHandling auto_dimension.createBitmapIndex auto_partitions.type auto_partitions.targetRowsPerSegment " +
		"auto_partitions.maxRowsPerSegment " +
		"auto_partitions.partitionDimensions auto_partitions.partitionDimension", elsewhere: compacted},
	{members: "auto_partitions.numShards auto_partitions.partitionFunction auto_config.forceGuaranteedRollup",
		elsewhere: "test/api/compact_test.go"},
	{members: "auto_config.maxNumConcurrentSubTasks", elsewhere: "test/api/coordinator_test.go"},
	{members: "auto_config.projections auto_config.maxRowsInMemory auto_config.appendableIndexSpec auto_config.maxBytesInMemory " +
		"auto_config.maxTotalRows " +
		"auto_config.splitHintSpec auto_config.indexSpec auto_config.indexSpecForIntermediatePersists auto_config.maxPendingPersists " +
		"auto_config.pushTimeout " +
		"auto_config.segmentWriteOutMediumFactory auto_config.maxRetry auto_config.taskStatusCheckPeriodMs " +
		"auto_config.chatHandlerTimeout " +
		"auto_config.chatHandlerNumRetries auto_config.maxNumSegmentsToMerge auto_config.totalNumMergeTasks " +
		"auto_config.maxColumnsToMerge " +
		"auto_partitions.maxTotalRows auto_partitions.assumeGrouped", without: true},
}
