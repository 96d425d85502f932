package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/vector"
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
		{"bad time", "", `{"ts":1}` + "\n" + `{"ts":"soon"}`, "{\"ts\":1}\n", `[{2 2 ts Value [soon] is not a time {"ts":"soon"}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			format, err := FormatOf(c.kind)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := Read(t.Context(), []byte(c.body), format, time, 1<<20)
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
	rows, err := Read(t.Context(), []byte("{\"ts\":1}\n{\"ts\":\n{\"ts\":3}\nnothing\n"), format, time, 1<<20)
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

// TestValuesThatAreNoObjects sends values of JSON that are no objects, alone and between rows: each
// is refused with its line, and the rows beside it are there.
func TestValuesThatAreNoObjects(t *testing.T) {
	time := timeOf(t, `{"dataSource":"d","timestampSpec":{"column":"ts","format":"auto"}}`)
	const row = `{"ts":1,"a":"x"}`
	for _, value := range []string{
		"null", "true", "false", `"text"`, `""`, `"{\"ts\":1}"`, "0", "-2.5", "1e3", "[1]", "[null]", `["{}"]`, "[[]]", `[["ts",1]]`, "[[{}]]",
		"nul", "NaN", "-", "{", "}", `{"ts"`, `{"ts":1`, `{"ts":1,}`, "'ts'", "ts", `"cut`, "\x00", "\xff",
	} {
		for _, c := range []struct {
			name, kind, body string
			rows             int // -1: an array that begins with no object may be one record
			line             int64
		}{
			{"alone", "application/x-ndjson", value, 0, 1},
			{"alone, as JSON", "application/json", value + "\n", 0, 1},
			{"between", "application/x-ndjson", row + "\n" + value + "\n" + row + "\n", 2, 2},
			{"last", "application/x-ndjson", row + "\n\n" + row + "\n" + value, 2, 4},
			{"in an array", "application/json", "[" + row + ",\n" + value + ",\n" + row + "\n]", 2, 2},
			{"first in an array", "application/json", "[" + value + ",\n" + row + "]", -1, 1},
			{"alone in an array", "application/json", "[" + value + "]", 0, 1},
		} {
			if value == "[[]]" || value == "}" || strings.HasPrefix(value, "{") || value == `"cut` {
				if strings.Contains(c.name, "array") {
					continue // it is no value, or one that nobody sees the end of
				}
			}
			format, err := FormatOf(c.kind)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Read(t.Context(), []byte(c.body), format, time, 1<<20)
			if err != nil {
				t.Errorf("%s, %s: %v", value, c.name, err)
				continue
			}
			if got.Bad == 0 || c.rows >= 0 && got.Count != c.rows || got.Refused[0].Line != c.line || got.Refused[0].Reason == "" {
				t.Errorf("%q, %s: %d rows, %d are none: %+v", c.body, c.name, got.Count, got.Bad, got.Refused)
			}
		}
	}
}

// dictionaryStream is a stream of Arrow with one text for all rows.
func dictionaryStream(t *testing.T, text string, rows int) []byte {
	t.Helper()
	var out bytes.Buffer
	f := arrow.NewFramed(&out)
	w := arrow.NewWriter([]arrow.Column{
		{Field: arrow.Field{Name: "ts", Type: arrow.Instant}},
		{Field: arrow.Field{Name: "s", Type: arrow.Text, Dictionary: &arrow.Encoding{Index: arrow.Int32}}},
	}, f.Message)
	texts := make([]string, rows)
	for i := range texts {
		texts[i] = text
	}
	batch := &vector.Batch{N: rows, Cols: []*vector.Vector{vector.FromLongs(make([]int64, rows)), vector.FromStrings(texts)}}
	if err := errors.Join(w.Batch(batch), w.Flush(), f.End()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFewBytesThatStandForMany reads bodies whose rows take far more as lines than they do in the
// body.
func TestFewBytesThatStandForMany(t *testing.T) {
	time := timeOf(t, `{"dataSource":"d","timestampSpec":{"column":"ts","format":"auto"}}`)
	repeated := dictionaryStream(t, strings.Repeat("x", 10_000), 1000)
	if len(repeated) > 100_000 {
		t.Fatalf("the body has %d bytes", len(repeated))
	}
	long := strings.Repeat("name", 1000)
	for _, c := range []struct {
		name, kind string
		body       []byte
		most, row  int64 // row 0: it fits
		rows, bad  int
	}{
		{"dictionary", "application/vnd.apache.arrow.stream", repeated, 1 << 20, 105, 0, 0},
		{"dictionary that fits", "application/vnd.apache.arrow.stream", repeated, 11 << 20, 0, 1000, 0},
		{"names of columns", "text/csv", []byte("ts," + long + "\n" + strings.Repeat("1,2\n", 1000)), 1 << 20, 261, 0, 0},
		{"bad ones", "", []byte(strings.Repeat("\x01\x01\x01\x01\n", 50_000)), 1 << 20, 38_837, 0, 0},
		{"rows", "", []byte(strings.Repeat("{\"ts\":1}\n", 1000)), 9 * 1000, 0, 1000, 0},
		{"one more", "", []byte(strings.Repeat("{\"ts\":1}\n", 1000)), 9*1000 - 1, 1000, 0, 0},
	} {
		format, err := FormatOf(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := Read(t.Context(), c.body, format, time, c.most)
		if large, ok := errors.AsType[*LargeError](err); ok {
			if large.Row != c.row {
				t.Errorf("%s: the limit is exceeded at row %d, want %d", c.name, large.Row, c.row)
			}
		} else if err != nil || c.row > 0 || rows.Count != c.rows || rows.Bad != c.bad {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
