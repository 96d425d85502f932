package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/timeline"
)

// What is looked at of a topic.
const (
	streamSample = 500 // records
	streamShown  = 5   // rows
)

// streamOptions are the flags of a topic that is loaded.
type streamOptions struct {
	client   *client
	clock    clock.Clock
	out, err io.Writer

	kafka, topic, into, id string
	properties, sums       []string
	format, rollup         string
	partitionedBy          string
	survey                 ingest.SurveyOptions
	latest, update, dryRun bool
	wait                   time.Duration
}

// secretNames are parts of the names of properties whose values are not shown.
var secretNames = []string{"password", "jaas", "secret"}

// check refuses flags that make no sense.
func (o *streamOptions) check() error {
	for _, name := range []string{"kafka", "topic", "into"} {
		if map[string]string{"kafka": o.kafka, "topic": o.topic, "into": o.into}[name] == "" {
			return fault.InvalidInput("--%s is missing; for example: "+
				"henge stream --kafka localhost:9092 --topic orders --into orders", name)
		}
	}
	if refusal := timeline.DataSourceRefusal("into", o.into); refusal != "" {
		return fault.InvalidInput("%s", refusal)
	}
	for _, text := range o.properties {
		name, _, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fault.InvalidInput("Value [%s] of --property is not of the form NAME=VALUE", text)
		}
		if name == "bootstrap.servers" {
			return fault.InvalidInput("Property [bootstrap.servers] is given by --kafka")
		}
	}
	switch {
	case len(o.sums) > 0 && o.rollup == "":
		return fault.InvalidInput("--sum needs --rollup, for example --rollup minute")
	case o.rollup != "" && !slices.Contains(rollupPeriods, strings.ToLower(o.rollup)):
		return fault.InvalidInput("Value [%s] of --rollup is unknown; use one of %s", o.rollup, strings.Join(rollupPeriods, ", "))
	case !slices.Contains(streamChunks, strings.ToUpper(o.partitionedBy)):
		return fault.InvalidInput("Value [%s] of --partitioned-by is unknown; use one of %s", o.partitionedBy, strings.Join(streamChunks, ", "))
	case o.format != "" && !json.Valid([]byte(o.format)):
		return fault.InvalidInput("Value [%s] of --input-format is not JSON; it is an input format such as "+
			`{"type":"csv","columns":["ts","sku"]}`, o.format)
	case o.wait < 0:
		return fault.InvalidInput("Value [%s] of --wait must not be negative", o.wait)
	}
	return nil
}

var (
	rollupPeriods = []string{"none", "second", "minute", "five_minute", "ten_minute", "fifteen_minute", "thirty_minute", "hour", "six_hour",
		"day"}
	streamChunks = []string{"HOUR", "DAY", "MONTH", "YEAR"}
)

func (o *streamOptions) run(ctx context.Context) error {
	id := o.into
	if o.id != "" {
		id = o.id
	}
	if !o.dryRun && !o.update {
		if _, err := statusOfStream(ctx, o.client, id); err == nil {
			return fault.InvalidInput("Supervisor [%s] already exists. See its state with: henge stream status %s; replace its spec with "+
				"--update, or "+
				"choose another --id", id, id)
		} else if f := fault.Find(err); f == nil || f.Category != fault.CategoryNotFound {
			return err
		}
	}
	found, err := o.look(ctx)
	if err != nil {
		return err
	}
	spec, err := o.spec(found)
	if err != nil {
		return err
	}
	rows, err := o.sample(ctx, spec)
	if err != nil {
		return err
	}
	if err := o.show(found, rows); err != nil {
		return err
	}
	if err := o.print(spec); err != nil || o.dryRun {
		return err
	}
	var put struct {
		ID string `json:"id"`
	}
	if err := o.client.call(ctx, http.MethodPost, supervisorPath, spec, &put); err != nil {
		return err
	}
	fmt.Fprintf(o.err, "Supervisor [%s] is submitted.\n", put.ID)
	if o.wait > 0 {
		if err := o.follow(ctx, put.ID); err != nil {
			return err
		}
		fmt.Fprintf(o.err, "It reads. Query it: henge sql -q 'SELECT COUNT(*) FROM %s'\n", quoteName(o.into))
	}
	return nil
}

// topicSurvey is what the records of a topic were found to be.
type topicSurvey struct {
	format       json.RawMessage
	time, layout string
	types        map[string]string // of SQL, by column
	notes        []string
}

// sampled is an answer of the sampler.
type sampled struct {
	Read    int `json:"numRowsRead"`
	Indexed int `json:"numRowsIndexed"`
	Schema  []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"logicalSegmentSchema"`
	Data []struct {
		Input  json.RawMessage            `json:"input"`
		Parsed map[string]json.RawMessage `json:"parsed"`
		Bad    bool                       `json:"unparseable"`
		Error  string                     `json:"error"`
	} `json:"data"`
}

// sample asks the server what the first records of the topic become by a spec.
func (o *streamOptions) sample(ctx context.Context, spec map[string]any) (*sampled, error) {
	var out sampled
	inner := maps.Clone(spec["spec"].(map[string]any))
	io := maps.Clone(inner["ioConfig"].(map[string]any))
	io["useEarliestOffset"] = true
	inner["ioConfig"] = io
	request := map[string]any{"type": "kafka", "spec": map[string]any{"type": "kafka", "spec": inner},
		"samplerConfig": map[string]any{"numRows": streamSample, "timeoutMs": 15_000}}
	err := o.client.call(ctx, http.MethodPost, "/service/indexer/v1/sampler", request, &out)
	f := fault.Find(err)
	switch {
	case f == nil:
		return &out, err
	case strings.Contains(f.Message, "RecordSupplier"):
		return nil, fault.InvalidInput("%s\nThe server must reach Kafka at [%s], and at the addresses that its brokers advertise "+
			"(advertised.listeners). Set security properties of the connection with --property, such as "+
			"security.protocol=SASL_SSL", f.Message, o.kafka)
	case strings.Contains(f.Message, "has no partition"):
		return nil, fault.InvalidInput("Topic [%s] does not exist. Check --topic, or create the topic first", o.topic)
	}
	return nil, err
}

// noTime is the specification of the time of records that are only looked at.
var noTime = map[string]any{"column": "!!!_no_such_column_!!!", "missingValue": "2010-01-01T00:00:00Z"}

// look reads the first records, to learn what they are.
func (o *streamOptions) look(ctx context.Context) (*topicSurvey, error) {
	out := &topicSurvey{format: json.RawMessage(`{"type":"json"}`), types: map[string]string{}}
	if o.format != "" {
		out.format = json.RawMessage(o.format)
	}
	first, err := o.sample(ctx, o.wire(out, noTime, map[string]any{"rollup": false}, nil))
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	for _, d := range first.Data {
		if !d.Bad && d.Input != nil {
			lines.Write(d.Input)
			lines.WriteByte('\n')
		}
	}
	switch {
	case first.Read == 0 && o.survey.Time == "":
		return nil, fault.InvalidInput("Topic [%s] has no records. Write one first, or set the time column with --time",
			o.topic)
	case first.Read > 0 && lines.Len() == 0:
		return nil, fault.InvalidInput("The first [%d] records do not match --input-format%s. The first one: %s", first.Read,
			map[bool]string{true: " (default: JSON)"}[o.format == ""], first.Data[0].Error)
	case lines.Len() == 0:
		out.time, out.layout = o.survey.Time, o.survey.TimeFormat
		return out, nil
	}
	if err := o.learn(ctx, out, lines.String()); err != nil {
		return nil, err
	}
	return out, nil
}

// learn finds the time and the types of records, which are objects of JSON in lines.
func (o *streamOptions) learn(ctx context.Context, out *topicSurvey, lines string) error {
	s, err := ingest.NewSurveyor(o.survey)
	if err != nil {
		return err
	}
	entities, err := (&ingest.Inline{Data: lines}).List(ctx, nil)
	if err != nil {
		return err
	}
	for _, e := range entities {
		if err := s.Add(ctx, "topic "+o.topic, e); err != nil {
			return err
		}
	}
	found, err := s.Result()
	if err != nil {
		return err
	}
	for _, c := range found.Columns {
		out.types[c.Name] = c.SQLType
	}
	if out.time, out.layout = found.Time, found.TimeFormat; out.time == "" {
		out.format, err = json.Marshal(map[string]any{"type": "kafka", "valueFormat": out.format})
		out.time, out.layout = "kafka.timestamp", "millis"
		out.notes = append(out.notes, "No column has a time in every record, so rows have the time of the record in Kafka; "+
			"set another column with --time.")
		return err
	}
	if found.OtherFormat != "" {
		out.notes = append(out.notes, fmt.Sprintf("The format of %q is a guess: all values are %s, but also %s.",
			out.time, out.layout, found.OtherFormat))
	}
	return nil
}

// spec returns the specification of the supervisor.
func (o *streamOptions) spec(found *topicSurvey) (map[string]any, error) {
	layout := found.layout
	if layout == "" {
		layout = "auto"
	}
	granularity := map[string]any{"segmentGranularity": strings.ToUpper(o.partitionedBy), "queryGranularity": "NONE", "rollup": false}
	metrics := []any{}
	if o.rollup != "" {
		granularity["queryGranularity"], granularity["rollup"] = strings.ToUpper(o.rollup), true
		metrics = append(metrics, map[string]any{"type": "count", "name": "count"})
	}
	for _, name := range o.sums {
		kind, known := "doubleSum", found.types[name]
		switch known {
		case "BIGINT":
			kind = "longSum"
		case "DOUBLE", "FLOAT":
		case "":
			return nil, fault.InvalidInput("Column [%s] of --sum is not in the sampled records", name)
		default:
			return nil, fault.InvalidInput("Column [%s] of --sum has values that are not numbers: it is a %s", name, known)
		}
		metrics = append(metrics, map[string]any{"type": kind, "name": "sum_" + name, "fieldName": name})
	}
	return o.wire(found, map[string]any{"column": found.time, "format": layout}, granularity, metrics), nil
}

// wire puts the parts of a specification together.
func (o *streamOptions) wire(found *topicSurvey, timestamp, granularity map[string]any, metrics []any) map[string]any {
	properties := map[string]any{"bootstrap.servers": o.kafka}
	for _, text := range o.properties {
		name, value, _ := strings.Cut(text, "=")
		properties[name] = value
	}
	schema := map[string]any{"dataSource": o.into, "timestampSpec": timestamp, "dimensionsSpec": map[string]any{"useSchemaDiscovery": true},
		"granularitySpec": granularity}
	if len(metrics) > 0 {
		schema["metricsSpec"] = metrics
	}
	out := map[string]any{"type": "kafka",
		"spec": map[string]any{
			"dataSchema": schema,
			"ioConfig": map[string]any{"type": "kafka", "topic": o.topic, "inputFormat": found.format, "consumerProperties": properties,
				"useEarliestOffset": !o.latest, "taskCount": 1, "taskDuration": "PT1H"},
			"tuningConfig": map[string]any{"type": "kafka"},
		},
		"context": map[string]any{"useConcurrentLocks": true},
	}
	if o.id != "" {
		out["id"] = o.id
	}
	return out
}

// show tells what was seen in the topic.
func (o *streamOptions) show(found *topicSurvey, rows *sampled) error {
	layout := ""
	if found.layout != "" {
		layout = " (" + found.layout + ")"
	}
	fmt.Fprintf(o.err, "%s at %s: %s sampled, %s, time in %q%s\n", o.topic, o.kafka, counted(int64(rows.Read), "record"),
		counted(int64(len(rows.Schema)), "column"), found.time, layout)
	for _, note := range found.notes {
		fmt.Fprintf(o.err, "Note: %s\n", note)
	}
	if len(rows.Schema) == 0 || rows.Read == 0 {
		return nil
	}
	bad, example := 0, ""
	t := &table{w: bufio.NewWriter(o.err)}
	var names []any
	for _, c := range rows.Schema {
		names = append(names, c.Name)
	}
	fmt.Fprintln(o.err)
	t.add(cells(names...))
	for _, d := range rows.Data {
		if d.Bad {
			if bad++; example == "" {
				example = d.Error
			}
			continue
		}
		if t.rows >= streamShown {
			continue
		}
		row := make([]json.RawMessage, len(rows.Schema))
		for i, c := range rows.Schema {
			row[i] = d.Parsed[c.Name]
			var at int64
			switch {
			case row[i] == nil:
				row[i] = json.RawMessage("null")
			case c.Name == "__time" && json.Unmarshal(row[i], &at) == nil:
				row[i] = cells(string(chrono.AppendMillis(nil, at, chrono.UTC)))[0]
			}
		}
		t.add(row)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if bad > 0 {
		fmt.Fprintf(o.err, "\nNote: %s of them can't be read and would be skipped. The first: %s\n", grouped(int64(bad)), example)
	}
	fmt.Fprintln(o.err)
	return nil
}

// print writes the specification. What is submitted is shown without secrets; what a dry run prints
// is to be used.
func (o *streamOptions) print(spec map[string]any) error {
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if !o.dryRun {
		var copied map[string]any
		if err := json.Unmarshal(text, &copied); err != nil {
			return err
		}
		properties := copied["spec"].(map[string]any)["ioConfig"].(map[string]any)["consumerProperties"].(map[string]any)
		for name := range properties {
			if slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) }) {
				properties[name] = "********"
			}
		}
		spec = copied
	}
	enc := json.NewEncoder(o.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(spec)
}
