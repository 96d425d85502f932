package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// streamSpec returns a specification with members added to its parts: each is JSON without braces.
func streamSpec(top, io, tuning, schema string) string {
	add := func(s string) string {
		if s == "" {
			return ""
		}
		return "," + s
	}
	if !strings.Contains(io, `"topic`) {
		io = strings.TrimSuffix(`"topic":"orders",`+io, ",")
	}
	return fmt.Sprintf(`{"type":"kafka","spec":{"dataSchema":{"dataSource":"sales","timestampSpec":{"column":"ts","format":"iso"},
		"dimensionsSpec":{"dimensions":["sku",{"type":"long","name":"qty"}]},"granularitySpec":{"segmentGranularity":"hour","rollup":false}%s},
		"ioConfig":{"type":"kafka","inputFormat":{"type":"json"},"consumerProperties":{"bootstrap.servers":"k:9092"}%s},
		"tuningConfig":{"type":"kafka"%s}}%s}`, add(schema), add(io), add(tuning), add(top))
}

func parsedStream(t *testing.T, text string) *Stream {
	t.Helper()
	s, err := ParseStream(Kafka, json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStreamIsShownInFull: all members with their defaults, the parts twice, durations in seconds.
func TestStreamIsShownInFull(t *testing.T) {
	const schema = `{"dataSource":"sales","timestampSpec":{"column":"ts","format":"iso","missingValue":null},` +
		`"dimensionsSpec":{"dimensions":[` +
		`{"type":"string","name":"sku","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":true},` +
		`{"type":"long","name":"qty","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":false}],"dimensionExclusions":["__time","ts"],` +
		`"includeAllDimensions":false,"useSchemaDiscovery":false},"metricsSpec":[],"granularitySpec":{"type":"uniform",` +
		`"segmentGranularity":"HOUR",` +
		`"queryGranularity":{"type":"none"},"rollup":false,"intervals":[]},"transformSpec":{"filter":null,"transforms":[]}}`
	const io = `{"topic":"orders","topicPattern":null,"consumerProperties":{"bootstrap.servers":"k:9092"},"pollTimeout":100,` +
		`"useEarliestOffset":false,` +
		`"configOverrides":null,"emitTimeLagMetrics":false,"inputFormat":{"type":"json"},"replicas":1,"taskCount":1,"taskDuration":"PT3600S",` +
		`"autoScalerConfig":null,"startDelay":"PT5S","period":"PT30S","completionTimeout":"PT1800S","lateMessageRejectionPeriod":null,` +
		`"earlyMessageRejectionPeriod":null,"lateMessageRejectionStartDateTime":null,"idleConfig":null,"stopTaskCount":null,"stream":"orders",` +
		`"useEarliestSequenceNumber":false}`
	const index = `{"bitmap":{"type":"roaring"},"dimensionCompression":"lz4","stringDictionaryEncoding":{"type":"utf8"},` +
		`"metricCompression":"lz4","longEncoding":"longs"}`
	const tuning = `{"type":"kafka","appendableIndexSpec":{"type":"onheap","preserveExistingMetrics":false},"maxRowsInMemory":150000,` +
		`"maxBytesInMemory":0,` +
		`"skipBytesInMemoryOverheadCheck":false,"maxRowsPerSegment":5000000,"maxTotalRows":null,"intermediatePersistPeriod":"PT10M",` +
		`"maxPendingPersists":0,` +
		`"indexSpec":` + index + `,"indexSpecForIntermediatePersists":` + index +
		`,"reportParseExceptions":false,"handoffConditionTimeout":900000,` +
		`"resetOffsetAutomatically":false,"segmentWriteOutMediumFactory":null,"workerThreads":null,"chatRetries":8,"httpTimeout":"PT10S",` +
		`"shutdownTimeout":"PT80S","offsetFetchPeriod":"PT30S","intermediateHandoffPeriod":"P2147483647D","logParseExceptions":false,` +
		`"maxParseExceptions":2147483647,"maxSavedParseExceptions":0,"numPersistThreads":1,"maxColumnsToMerge":-1,` +
		`"skipSequenceNumberAvailabilityCheck":false,"repartitionTransitionDuration":"PT120S"}`
	want := `{"type":"kafka","spec":{"dataSchema":` + schema + `,"ioConfig":` + io + `,"tuningConfig":` + tuning + `},"dataSchema":` + schema +
		`,"tuningConfig":` + tuning + `,"ioConfig":` + io + `,"context":null,"suspended":false}`
	given := streamSpec(`"frob":1`, `"frob":2`, `"frob":3,"repartitionTransitionDuration":"PT1S","skipSequenceNumberAvailabilityCheck":true`,
		`"frob":4`)
	got, err := json.Marshal(parsedStream(t, given))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(members(t, want), members(t, string(got))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := json.Marshal(parsedStream(t, string(got)))
	if err != nil || string(again) != string(got) {
		t.Errorf("what is shown reads as\n%s\nof\n%s (%v)", again, got, err)
	}
}

func members(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestStreamMembersAreShown: what is given comes back in the form of the interface.
func TestStreamMembersAreShown(t *testing.T) {
	for _, c := range []struct{ top, io, tuning, schema, want string }{
		{"", `"taskDuration":"P1DT0.5S"`, "", "", `"taskDuration":"PT86400.500S"`},
		{"", `"lateMessageRejectionPeriod":"P7300D"`, "", "", `"lateMessageRejectionPeriod":"PT630720000S"`},
		{"", `"lateMessageRejectionStartDateTime":"2015-01-01"`, "", "", `"lateMessageRejectionStartDateTime":"2015-01-01T00:00:00.000Z"`},
		{"", "", `"httpTimeout":"PT2M","intermediatePersistPeriod":"PT90S"`, "", `"httpTimeout":"PT120S"`},
		{"", "", `"intermediatePersistPeriod":"PT90S"`, "", `"intermediatePersistPeriod":"PT90S"`},
		{"", `"stopTaskCount":"2"`, "", "", `"stopTaskCount":2`},
		{"", `"idleConfig":{"enabled":true}`, "", "", `"idleConfig":{"enabled":true,"inactiveAfterMillis":600000}`},
		{"", `"topicPattern":"o.*"`, "", "", `"topicPattern":"o.*"`},
		{"", `"topicPattern":"o.*"`, "", "", `"stream":"o.*"`},
		{"", `"taskCount":0,"replicas":0`, "", "", `"replicas":0,"taskCount":0`},
		{"", `"serverPriorityToReplicas":{"1":2,"-10":1}`, "", "", `"replicas":3`},
		{"", `"serverPriorityToReplicas":{"1":2,"-10":1}`, "", "", `"serverPriorityToReplicas":{"-10":1,"1":2}`},
		{"", `"replicas":3,"serverPriorityToReplicas":{"1":2,"-10":1}`, "", "", `"replicas":3`},
		{"", `"topicPattern":"(?!test-).*-orders(?=.)"`, "", "", `"topicPattern":"(?!test-).*-orders(?=.)"`},
		{`"id":"eu"`, "", "", "", `"id":"eu"`},
		{`"context":{"priority":80}`, "", "", "", `"context":{"priority":80}`},
		{`"suspended":true`, "", "", "", `"suspended":true`},
		{"", `"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":2,"taskCountMax":4}`, "", "", `"taskCount":2`},
		{"", `"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":2,"taskCountMax":4},"taskCount":3`, "", "", `"taskCount":3`},
		{"", `"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":2,"taskCountMax":4,"taskCountStart":4},"taskCount":3`, "", "",
			`"taskCount":4`},
		{"", `"autoScalerConfig":{"autoScalerStrategy":"costBased"}`, "", "", `"minScaleUpDelay":"PT900S"`},
		{"", `"autoScalerConfig":{"autoScalerStrategy":"rateBased"}`, "", "", `"recoveryTargetMillis":300000`},
		{"", "", "", `"dimensionsSpec":{"dimensions":["x"],"dimensionExclusions":["page"]},"timestampSpec":{"column":"time"}`,
			`"dimensionExclusions":["__time","page","time"]`},
		{"", "", "", `"metricsSpec":[{"type":"longSum","name":"s","fieldName":"n"}]`, `"dimensionExclusions":["__time","s","n","ts"]`},
	} {
		got, err := json.Marshal(parsedStream(t, streamSpec(c.top, c.io, c.tuning, c.schema)))
		if err != nil || strings.Count(string(got), c.want) == 0 {
			t.Errorf("%+v: %s (%v)", c, got, err)
		}
		if again, err := json.Marshal(parsedStream(t, string(got))); err != nil || string(again) != string(got) {
			t.Errorf("%+v reads as %s (%v)", c, again, err)
		}
	}
}

// TestFlatStream: the parts may be at the top; [spec] wins.
func TestFlatStream(t *testing.T) {
	nested := parsedStream(t, streamSpec("", "", "", ""))
	text, err := json.Marshal(nested)
	if err != nil {
		t.Fatal(err)
	}
	all := members(t, string(text))
	delete(all, "spec")
	flat, _ := json.Marshal(all)
	again, err := json.Marshal(parsedStream(t, string(flat)))
	if err != nil || string(again) != string(text) {
		t.Errorf("the flat form reads as %s (%v)", again, err)
	}
	all["spec"] = members(t, string(text))["spec"]
	all["dataSchema"].(map[string]any)["dataSource"] = "other"
	both, _ := json.Marshal(all)
	if s := parsedStream(t, string(both)); s.ID() != "sales" {
		t.Errorf("the id of both forms is [%s]", s.ID())
	}
}

func TestRefusedStreams(t *testing.T) {
	const io = "Cannot construct instance of `org.apache.druid.indexing.kafka.supervisor.KafkaSupervisorIOConfig`, problem: "
	for _, c := range []struct{ text, want string }{
		{`{"type":"kafka"}`, "Cannot construct instance of `org.apache.druid.indexing.kafka.supervisor.KafkaSupervisorSpec`, problem: " +
			"dataSchema"},
		{`{"type":"kafka","spec":[]}`,
			"Cannot deserialize value of type `org.apache.druid.indexing.kafka.supervisor.KafkaSupervisorIngestionSpec` from Array"},
		{streamSpec("", `"topic":"a","topicPattern":"b"`, "", ""), io + "Only one of topic [a] or topicPattern [b] must be specified"},
		{streamSpec("", `"topic":null`, "", ""), io + "Either topic or topicPattern must be specified"},
		{streamSpec("", `"topicPattern":"["`, "", ""), io + "topicPattern [[] is not a regular expression"},
		{streamSpec("", `"consumerProperties":null`, "", ""), io + "consumerProperties"},
		{strings.Replace(streamSpec("", "", "", ""), `"bootstrap.servers":"k:9092"`, "", 1), io +
			"consumerProperties must contain entry for [bootstrap.servers]"},
		{streamSpec("", `"stopTaskCount":0`, "", ""), io + "stopTaskCount must be greater than 0"},
		{streamSpec("", `"replicas":3,"serverPriorityToReplicas":{"1":2,"2":3}`, "", ""), io +
			"Configured replicas[3] does not match the sum of replicas[5] specified in serverPriorityToReplicas."},
		{streamSpec("", `"serverPriorityToReplicas":{"0":2,"1":-1}`, "", ""), io + "Found invalid server replica[-1] for priority[1]"},
		{streamSpec("", `"serverPriorityToReplicas":{"high":2}`, "", ""), io + "Found invalid priority[high] in serverPriorityToReplicas."},
		{streamSpec("", `"topicPattern":"(?<!a"`, "", ""), io + "topicPattern [(?<!a] is not a regular expression"},
		{streamSpec("", `"taskDuration":"P1M"`, "", ""), io +
			"Cannot convert to Duration as this period contains months and months vary in length"},
		{streamSpec("", `"taskDuration":"1 hour"`, "", ""), `Invalid format: "1 hour" (through reference chain: `},
		{streamSpec("", `"lateMessageRejectionPeriod":"PT1H","lateMessageRejectionStartDateTime":"2015"`, "", ""), io +
			"SeekableStreamSupervisorIOConfig does not support both"},
		{streamSpec("", `"inputFormat":{"type":"frob"}`, "", ""),
			"Could not resolve type id 'frob' as a subtype of `org.apache.druid.data.input.InputFormat`"},
		{streamSpec("", `"inputFormat":{"type":"kafka"}`, "", ""), "valueFormat must not be null"},
		{streamSpec("", `"inputFormat":{"type":"kafka","valueFormat":{"type":"frob"}}`, "", ""), "type id 'frob'"},
		{streamSpec("", `"autoScalerConfig":{"enableTaskAutoScaler":true}`, "", ""),
			"LagBasedAutoScalerConfig`, problem: taskCountMax or taskCountMin can't be null!"},
		{streamSpec("", `"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":3,"taskCountMax":1}`, "", ""),
			"taskCountMax can't lower than taskCountMin!"},
		{streamSpec("", `"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":1,"taskCountMax":2,"taskCountStart":3}`, "", ""),
			"taskCountMin <= taskCountStart <= taskCountMax"},
		{streamSpec("", `"autoScalerConfig":{"autoScalerStrategy":"frob"}`, "", ""), "type id 'frob'"},
		{streamSpec("", `"autoScalerConfig":{"stopTaskCountRatio":2}`, "", ""), "0.0 < stopTaskCountRatio <= 1.0"},
		{streamSpec("", "", `"type":"frob"`, ""),
			"Could not resolve type id 'frob' as a subtype of `org.apache.druid.segment.indexing.TuningConfig`"},
		{streamSpec("", "", "", `"dataSource":""`), "DataSchema`, problem: Invalid value for field [dataSource]: must not be null"},
		{streamSpec("", "", "", `"dataSource":"a/b"`),
			"DataSchema`, problem: Invalid value for field [dataSource]: Value [a/b] cannot contain '/'."},
		{streamSpec("", "", "", `"timestampSpec":null`), "DataSchema`, problem: timestampSpec"},
		{streamSpec("", "", "", `"dimensionsSpec":{"dimensions":["a","a"]}`), "DimensionsSpec`, problem: Duplicate column entries found : [a]"},
		{streamSpec("", "", "", `"metricsSpec":[{"type":"count","name":"sku"}]`),
			"DataSchema`, problem: Cannot specify a column more than once: [sku] seen in"},
		{streamSpec(`"id":"a/b"`, "", "", ""), "Invalid value for field [id]: Value [a/b] cannot contain '/'."},
	} {
		_, err := ParseStream(Kafka, json.RawMessage(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := ParseStream(Kinesis, json.RawMessage(streamSpec("", "", `"type":"kinesis"`, ""))); err == nil ||
		!strings.Contains(err.Error(), "KinesisSupervisorIOConfig`, problem: stream") {
		t.Errorf("a stream of Kinesis without a name: %v", err)
	}
}

// TestAcceptedStreams: what looks wrong and is taken, as the interface says.
func TestAcceptedStreams(t *testing.T) {
	for _, text := range []string{
		streamSpec("", `"type":"frob"`, "", ""), streamSpec("", `"inputFormat":null`, "", ""), streamSpec("", `"topic":""`, "", ""),
		streamSpec("", "", "", `"dimensionsSpec":null`), streamSpec("", "", "", `"dimensionsSpec":{"dimensions":[{"type":"frob","name":"x"}]}`),
	} {
		parsedStream(t, text)
	}
}

// TestStreamTask: the payload says all that a task needs, and reads as it was written.
func TestStreamTask(t *testing.T) {
	for _, c := range []struct{ io, want string }{
		{`"pollTimeout":250`, `"ioConfig":{"type":"kafka","taskGroupId":1,"baseSequenceName":"index_kafka_sales_1f0c9a2be77d310",` +
			`"startPartitions":{"type":"end","stream":"orders","topic":"orders","partitionSequenceNumberMap":{"1":5,"3":7},` +
			`"partitionOffsetMap":{"1":5,"3":7}}`},
		{`"topicPattern":"ord.*"`, `"multiTopic":true`},
		{`"serverPriorityToReplicas":{"-2":3}`, `},"serverPriority":-2,"context"`},
		{`"consumerProperties":{"bootstrap.servers":"k:9092","isolation.level":"read_uncommitted"}`, `"isolation.level":"read_uncommitted"`},
	} {
		s := parsedStream(t, streamSpec(`"context":{"useConcurrentLocks":true},"id":"sales"`, c.io, `"maxRowsPerSegment":10`, ""))
		low := int64(1_000)
		io := chat.TaskIO{
			Stream: s.IO.Stream, Group: 1, Sequence: "index_kafka_sales_1f0c9a2be77d310", Starts: stream.Positions{"1": "5", "3": "7"},
			Ends: stream.Positions{"1": stream.Unbounded, "3": stream.Unbounded}, MinTime: &low, PollMillis: s.IO.PollMillis, Format: s.IO.Format,
			Checkpoints: map[int]stream.Positions{0: {"1": "5", "3": "7"}, 1: {"1": "9", "3": "7"}},
		}
		for priority := range s.IO.Priorities {
			io.ServerPriority = &priority
		}
		made, err := NewStreamTask(s, "index_kafka_sales_1f0c9a2be77d310_abcdefgh", io)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{c.want, `"checkpoints":"{\"0\":{\"1\":5,\"3\":7},\"1\":{\"1\":9,\"3\":7}}"`,
			`"groupId":"index_kafka_sales"`,
			`"minimumMessageTime":"1970-01-01T00:00:01.000Z"`, `"type":"KafkaTuningConfig"`, `"useConcurrentLocks":true`, `9223372036854775807`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s\nlacks %s", text, want)
			}
		}
		read, err := ParseStreamTask(text)
		if err != nil {
			t.Fatal(err)
		}
		io.Stream.IO, read.IO.Stream.IO = nil, nil // as each of both was given it
		if diff := cmp.Diff(io, read.IO); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again, err := json.Marshal(read); err != nil || string(again) != string(text) {
			t.Errorf("%s\nreads as\n%s (%v)", text, again, err)
		}
		if read.Supervisor != "sales" || read.Tuning.MaxRowsPerSegment != 10 || read.Tuning.MaxTotalRows != 20_000_000 ||
			read.Schema.DataSource != "sales" {
			t.Errorf("read %+v", read)
		}
	}
	for text, want := range map[string]string{
		`{"type":"index_parallel"}`: "does not read a stream", `{"type":"index_kafka"}`: "must not be null",
		`{"type":"index_kafka","id":"x","dataSchema":{"dataSource":"d","timestampSpec":{}}}`:               "Task [x] has no [ioConfig]",
		`{"type":"index_kafka","id":"x","dataSchema":{"dataSource":"d","timestampSpec":{}},"ioConfig":{}}`: "has no [startSequenceNumbers]",
	} {
		if _, err := ParseStreamTask(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestKinesisStream: what Kinesis has of its own, and positions as text.
func TestKinesisStream(t *testing.T) {
	text := strings.ReplaceAll(streamSpec("", `"stream":"clicks","awsAssumedRoleArn":"arn:x"`, `"repartitionTransitionDuration":"PT1S"`, ""),
		"kafka", "kinesis")
	s, err := ParseStream(Kinesis, json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"endpoint":"kinesis.us-east-1.amazonaws.com"`, `"awsAssumedRoleArn":"arn:x"`,
		`"handoffConditionTimeout":0`, `"maxBytesPerPoll":1000000`,
		`"repartitionTransitionDuration":"PT1S"`} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%s\nlacks %s", shown, want)
		}
	}
	task, err := NewStreamTask(s, "x", chat.TaskIO{Stream: s.IO.Stream, Starts: stream.Positions{"shardId-0": "12"},
		Exclusive: []stream.Partition{"shardId-0"}, Follows: []stream.Partition{"shardId-0"}})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(task)
	if err != nil || !strings.Contains(string(payload), `"partitionSequenceNumberMap":{"shardId-0":"12"}`) ||
		!strings.Contains(string(payload), `"exclusivePartitions":["shardId-0"]`) || !strings.Contains(string(payload),
		`"awsAssumedRoleArn":"arn:x"`) {
		t.Errorf("%s (%v)", payload, err)
	}
	if read, err := ParseStreamTask(payload); err != nil || read.IO.Starts["shardId-0"] != "12" || len(read.IO.Exclusive) != 1 ||
		len(read.IO.Follows) != 1 {
		t.Errorf("read %+v (%v)", read, err)
	}
}
