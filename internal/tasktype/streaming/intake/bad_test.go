package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/stream"
)

const isoTime = `"timestampSpec":{"column":"time","format":"iso"}`

// The words are those that were recorded of the original.
func TestBadRows(t *testing.T) {
	m, bad := maker(t, `{`+isoTime+`,"dimensionsSpec":{"dimensions":["channel",{"type":"long","name":"added"}]},
		"metricsSpec":[{"type":"longSum","name":"s","fieldName":"deleted"}]}`, `{"type":"json"}`)
	made := mustMake(t, m, values("not json", `{"time":"oops","channel":"#x"}`, `{"channel":"no time"}`, "{}", "",
		`{"time":"2015-09-12T01:00:00Z","channel":"#ok","added":"12x"}`, `{"time":"2015-09-12T01:00:00Z","deleted":"y"}`,
		`{"time":"2015-09-12T01:00:00Z"} {"time":`, `{"time":"2015-09-12T01:00:00Z"}`))
	var got []string
	for _, b := range *bad {
		got = append(got, fmt.Sprintf("%d %s [%s] %s", b.Record.Offset, b.Type, b.Input, strings.Join(b.Details, "; ")))
	}
	want := []string{
		"0 unparseable [not json] Unable to parse row [not json] (Record: 1)",
		"1 unparseable [{time=oops, channel=#x}] Timestamp[oops] is unparseable! Event: {time=oops, channel=#x} (Record: 1)",
		"2 unparseable [{channel=no time}] Timestamp[null] is unparseable! Event: {channel=no time} (Record: 1)",
		"3 unparseable [{}] Timestamp[null] is unparseable! Event: {} (Record: 1)",
		"4 unparseable [] Unable to parse [] as the intermediateRow resulted in empty input row (Record: 1)",
		"5 processedWithError [{time=2015-09-12T01:00:00Z, channel=#ok, added=12x}] Could not convert value [12x] to long for dimension [added].",
		"6 processedWithError [{time=2015-09-12T01:00:00Z, deleted=y}] Unable to parse value[y] for field[deleted]",
		`7 unparseable [{"time":"2015-09-12T01:00:00Z"} {"time":] Unable to parse row [{"time":"2015-09-12T01:00:00Z"} {"time":] (Record: 2)`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	c := made.Counters
	if c.Processed != 2 || c.ProcessedWithError != 2 || c.Unparseable != 6 || c.ThrownAway != 0 || made.Rows.N != 4 {
		t.Errorf("%+v of %d rows", c, made.Rows.N)
	}
}

func TestKafkaFormat(t *testing.T) {
	record := func(value any, key string, headers ...string) stream.Record {
		r := stream.Record{Topic: "top", Number: 3, Offset: 41, Time: 5000}
		if text, ok := value.(string); ok {
			r.Value = []byte(text)
		}
		if key != "" {
			r.Key = []byte(key)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Headers = append(r.Headers, stream.Header{Name: headers[i], Value: []byte(headers[i+1])})
		}
		return r
	}
	full := `{"type":"kafka","valueFormat":{"type":"json"},"keyFormat":{"type":"tsv","columns":["x"]},
		"headerFormat":{"type":"string"}}`
	for name, c := range map[string]struct {
		schema, format string
		records        []stream.Record
		rows           []string
		bad            string
	}{
		"all of it": {
			schema: `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"},"dimensionsSpec":{"dimensions":["a","kafka.key","kafka.topic",
				"kafka.header.h",{"type":"long","name":"kafka.partition"},{"type":"long","name":"kafka.offset"},"kafka.timestamp"]}}`, format: full,
			records: []stream.Record{record(`{"a":"x"}{"a":"y"}`, "k\tz", "h", "1", "h", "2")},
			rows: []string{
				"__time=5000 a=x kafka.key=k kafka.topic=top kafka.header.h=2 kafka.partition=3 kafka.offset=41 kafka.timestamp=5000",
				"__time=5000 a=y kafka.key=k kafka.topic=top kafka.header.h=2 kafka.partition=3 kafka.offset=41 kafka.timestamp=5000",
			},
		},
		"no value": {
			schema:  `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"},"dimensionsSpec":{"dimensions":["a","kafka.key"]}}`,
			format:  full,
			records: []stream.Record{record(nil, "k"), record(nil, "")},
			rows:    []string{"__time=5000 kafka.key=k", "__time=5000"},
		},
		"no value and no time": {
			schema: `{` + millis + `}`, format: full, records: []stream.Record{record(nil, "k")}, bad: "Timestamp[null] is unparseable!",
		},
		"the value wins": {
			schema: `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"},"dimensionsSpec":{"dimensions":["kafka.topic"]}}`, format: full,
			records: []stream.Record{record(`{"kafka.topic":"own","kafka.timestamp":7}`, ""), record(`{}`, "")},
			rows:    []string{"__time=7 kafka.topic=own", "__time=5000 kafka.topic=top"},
		},
		"no formats of keys and headers": {
			schema: `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"},"dimensionsSpec":{"useSchemaDiscovery":true}}`,
			format: `{"type":"kafka","valueFormat":{"type":"json"}}`, records: []stream.Record{record(`{"a":1}`, "k", "h", "1")},
			rows: []string{"__time=5000 a=1 kafka.topic=top kafka.partition=3 kafka.offset=41"},
		},
		"other names": {
			schema: `{"timestampSpec":{"column":"ts","format":"millis"},"dimensionsSpec":{"useSchemaDiscovery":true}}`,
			format: `{"type":"kafka","valueFormat":{"type":"json"},"keyFormat":{"type":"json"},
				"headerFormat":{"type":"string","encoding":"UTF-16LE"},
				"headerColumnPrefix":"h_","keyColumnName":"k","timestampColumnName":"ts","topicColumnName":"tp",
				"partitionColumnName":"p","offsetColumnName":"o"}`,
			records: []stream.Record{record(`{"a":1}`, `{"any":7}`, "x", "A\x00")},
			rows:    []string{"__time=5000 a=1 h_x=A tp=top p=3 o=41 k=7"},
		},
		"a key that is none": {
			schema: `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"}}`,
			format: `{"type":"kafka","valueFormat":{"type":"json"},"keyFormat":{"type":"json"}}`,
			// The schema asks for nothing by name, so that keys are looked at.
			records: []stream.Record{record(`{"a":1}`, "{no")}, bad: `Unable to parse row [{"a":1}] (Record: 1)`,
		},
		"a value with an error shows the time of the stream": {
			schema:  `{"timestampSpec":{"column":"kafka.timestamp","format":"millis"},"dimensionsSpec":{"dimensions":[{"type":"long","name":"n"}]}}`,
			format:  full,
			records: []stream.Record{record(`{"n":"x"}`, "")}, rows: []string{"__time=5000"},
			bad: "Could not convert value [x] to long for dimension [n].",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, bad := maker(t, c.schema, c.format)
			made := mustMake(t, m, c.records)
			if d := cmp.Diff(c.rows, shownRows(made)); d != "" {
				t.Error(d)
			}
			got := ""
			for _, b := range *bad {
				got += strings.Join(b.Details, "; ")
			}
			if !strings.HasPrefix(got, c.bad) || got == "" != (c.bad == "") {
				t.Errorf("bad: %s", got)
			}
		})
	}
}
