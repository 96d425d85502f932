package push

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
)

func timeOf(t *testing.T, dataSchema string) *spec.Timestamp {
	t.Helper()
	schema, err := spec.Parse(json.RawMessage(dataSchema))
	if err != nil {
		t.Fatal(err)
	}
	return &schema.Time
}

func TestReadBodies(t *testing.T) {
	time := timeOf(t, `{"dataSource":"d","timestampSpec":{"column":"ts","format":"auto"}}`)
	for _, c := range []struct {
		name, kind, body string
		lines            string
		refused          string
	}{
		{"lines", "", `{"ts":1700000000000,"a":1}` + "\n" + `{"ts":"2024-01-01","a":"x"}` + "\n",
			"{\"ts\":1700000000000,\"a\":1}\n{\"ts\":\"2024-01-01\",\"a\":\"x\"}\n", "[]"},
		{"no end of line", "application/x-ndjson", `{"ts":1,"a":null}`, "{\"ts\":1,\"a\":null}\n", "[]"},
		{"array", "application/json; charset=utf-8", `[{"ts":1}, {"ts":2,"n":{"x":[1,"é"]}}]`,
			"{\"ts\":1}\n{\"ts\":2,\"n\":{\"x\":[1,\"é\"]}}\n", "[]"},
		{"object over lines", "application/json", "{\n \"ts\": 1\n}", "{\"ts\":1}\n", "[]"},
		{"csv", "text/csv", "ts,a\n2024-01-01,\"x,\ny\"\n", "{\"ts\":\"2024-01-01\",\"a\":\"x,\\ny\"}\n", "[]"},
		{"nothing", "", "", "", "[]"},
		{"no time", "", `{"a":1}`, "", `[{1 1 ts It has no value in the column of the time {"a":1}}]`},
		{"bad time", "", `{"ts":1}` + "\n" + `{"ts":"soon"}`, "{\"ts\":1}\n", `[{2 2 ts Value [soon] is no time {"ts":"soon"}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			format, err := FormatOf(c.kind)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := Read(t.Context(), []byte(c.body), format, time)
			if err != nil {
				t.Fatal(err)
			}
			if string(rows.Lines) != c.lines || fmt.Sprint(rows.Refused) != c.refused {
				t.Errorf("lines %q\nwant  %q\nrefused %v\nwant    %s", rows.Lines, c.lines, rows.Refused, c.refused)
			}
		})
	}
}

func TestBadRecordsAreNamed(t *testing.T) {
	time := timeOf(t, `{"dataSource":"d","timestampSpec":{"column":"ts","format":"auto"}}`)
	format, err := FormatOf("")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Read(t.Context(), []byte("{\"ts\":1}\n{\"ts\":\n{\"ts\":3}\nnothing\n"), format, time)
	if err != nil {
		t.Fatal(err)
	}
	if rows.Count != 2 || rows.Bad == 0 || rows.Refused[0].Line != 2 || rows.Refused[0].Reason == "" {
		t.Errorf("%+v", rows)
	}
	if _, err := FormatOf("image/png"); fault.Find(err) == nil {
		t.Errorf("an image is read: %v", err)
	}
}
