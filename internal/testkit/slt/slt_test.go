package slt

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

// canned answers every statement with the same.
type canned struct {
	answer *Answer
	err    error
	loads  []*Load
}

func (c *canned) Load(_ context.Context, l *Load) error              { c.loads = append(c.loads, l); return nil }
func (c *canned) Tombstone(context.Context, *Tombstone) error        { return nil }
func (c *canned) Lookup(context.Context, *Lookup) error              { return nil }
func (c *canned) Query(context.Context, *Statement) (*Answer, error) { return c.answer, c.err }

var twoRows = &Answer{Columns: []string{"s", "d"}, SQLTypes: []string{"VARCHAR", "DOUBLE"},
	Rows: [][]any{{"b", json.Number("0.30000000000000004")}, {nil, json.Number("1.0")}}}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.slt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParse(t *testing.T) {
	s := parse(t, `# a comment
load t version=2 interval=2024-01-01/P1D partition=3 core=4
__time TIMESTAMP, n BIGINT
["2024-01-01", 1]
{"__time": "2024-01-01T01:00"}

context a=1 b=x
param BIGINT 7
skip if=spill,http slow
query TR rowsort header
SELECT s,
  d FROM t
----
s | d
b | 1.0

error UNSUPPORTED: not yet
SELECT 1
`)
	l := s.Records[0].(*Load)
	if l.Version != "2" || l.Partition != 3 || l.Core != 4 || len(l.Table.Rows) != 2 || l.Interval.String() != "2024-01-01T00:00:00.000Z/2024-01-02T00:00:00.000Z" {
		t.Errorf("load %+v", l)
	}
	q := s.Records[1].(*Statement)
	if q.SQL != "SELECT s,\n  d FROM t" || q.Types != "TR" || !q.Sorted || !q.Header || q.Line != 10 {
		t.Errorf("query %+v", q)
	}
	if d := cmp.Diff([]string{"s | d", "b | 1.0"}, q.Want); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"a": json.Number("1"), "b": "x"}, q.Context); d != "" {
		t.Error(d)
	}
	if len(q.Params) != 1 || q.Params[0].Type != "BIGINT" || len(q.skips) != 1 || q.skips[0].reason != "slow" {
		t.Errorf("query %+v", q)
	}
	if e := s.Records[2].(*Statement).Err; e.Category != fault.CategoryUnsupported || e.Text != "not yet" {
		t.Errorf("error %+v", e)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"dance":                                   "unknown directive",
		"query\nSELECT 1":                         "a letter per column",
		"query I sideways\nSELECT 1":              "unknown mode",
		"query I\n\nSELECT 1":                     "want a statement",
		"load t speed=1\n__time TIMESTAMP":        "unknown option",
		"load t\n__time TIMESTAMP\n[true]":        "no LONG",
		"load t":                                  "needs columns",
		"skip \nquery I\nSELECT 1":                "needs a reason",
		"skip because":                            "without a statement",
		"param BIGINT\nquery I\nSELECT 1":         "a type and a JSON value",
		"context a\nquery I\nSELECT 1":            "key=value",
		"error no\nSELECT 1\n----\n1":             "has no rows",
		"tombstone t version=1 interval=tomorrow": "Invalid interval",
	} {
		_, err := Parse(write(t, text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.slt:") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, record string
		answer       *Answer
		err          error
		want         string // a part of the difference; empty: none
	}{
		{"right", "query TR\nSELECT\n----\nb | 0.3\nNULL | 1.0", twoRows, nil, ""},
		{"other order", "query TR\nSELECT\n----\nNULL | 1.0\nb | 0.3", twoRows, nil, "+b"},
		{"sorted", "query TR rowsort\nSELECT\n----\nNULL | 1.0\nb | 0.3", twoRows, nil, ""},
		{"header", "query TR header\nSELECT\n----\ns | d\nb | 0.3\nNULL | 1.0", twoRows, nil, ""},
		{"types", "query TI\nSELECT\n----\nb | 0.3\nNULL | 1.0", twoRows, nil, "columns are TR"},
		{"too few", "query TR\nSELECT\n----\nb | 0.3", twoRows, nil, "+NULL"},
		{"value", "query TR\nSELECT\n----\nb | 0.31\nNULL | 1.0", twoRows, nil, "-b | 0.31"},
		{"text is not near", "query TT\nSELECT\n----\nb | 0.3", &Answer{SQLTypes: []string{"CHAR", "CHAR"}, Rows: [][]any{{"b", "0.30000000000000004"}}}, nil, "+b"},
		{"failure", "query I\nSELECT\n----\n1", nil, fault.InvalidInput("bad"), "failed: INVALID_INPUT: bad"},
		{"error", "error bad [x]\nSELECT", nil, fault.InvalidInput("so bad [x], really"), ""},
		{"error pattern", "error /ba.*\\[y\\]/\nSELECT", nil, fault.InvalidInput("bad [x]"), "other words"},
		{"error over lines", "error a b\nSELECT", nil, fault.InvalidInput("a\nb"), ""},
		{"error category", "error bad\nSELECT", nil, fault.Runtime("bad"), "RUNTIME_FAILURE"},
		{"error category wanted", "error RUNTIME_FAILURE: bad\nSELECT", nil, fault.Runtime("bad"), ""},
		{"no error", "error bad\nSELECT", twoRows, nil, "succeeded with 2 rows"},
		{"no fault", "error bad\nSELECT", nil, errors.New("bad"), "no fault"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := parse(t, c.record).Records[0].(*Statement)
			got := r.compare(Config{}, c.answer, c.err)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMovedPlaces(t *testing.T) {
	r := parse(t, "error /not found.*page/\nSELECT").Records[0].(*Statement)
	err := fault.InvalidSQL(fault.Span{Line: 1, Column: 9}, "Column 'x' not found; is it page?")
	if d := r.compare(Config{Moved: true}, nil, err); d != "" {
		t.Error(d)
	}
	r = parse(t, "error Column 'x' not found (line [1], column [8])\nSELECT").Records[0].(*Statement)
	err = fault.InvalidSQL(fault.Span{Line: 1, Column: 9}, "Column 'x' not found")
	if r.compare(Config{}, nil, err) == "" {
		t.Error("another place was not noticed")
	}
	if d := r.compare(Config{Moved: true}, nil, err); d != "" {
		t.Error(d)
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "NULL"}, {"NULL", `"NULL"`}, {"", `""`}, {"a b", "a b"}, {" a", `" a"`}, {"a|b", `"a|b"`}, {"a\nb", `"a\nb"`}, {`"q"`, `"\"q\""`},
		{`say "q"`, `say "q"`}, {true, "true"}, {json.Number("1.0E7"), "1.0E7"}, {[]any{json.Number("1"), nil}, "[1,null]"}, {"----", `"----"`},
	} {
		if got := cell(c.value); got != c.want {
			t.Errorf("%v is shown as %s, want %s", c.value, got, c.want)
		}
	}
}

func TestRewrite(t *testing.T) {
	const before = `# kept
query I rowsort
SELECT s, d
FROM t
----
old

# kept too
error some text
SELECT 2
`
	path := write(t, before)
	s, err := Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, s, Config{New: func(testing.TB) Engine { return &canned{answer: twoRows} }}, true)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const rows = "----\nNULL | 1.0\nb | 0.30000000000000004\n"
	want := "# kept\nquery TR rowsort\nSELECT s, d\nFROM t\n" + rows + "\n# kept too\nquery TR\nSELECT 2\n" +
		"----\nb | 0.30000000000000004\nNULL | 1.0\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}

	// The errors that are written can be read again, and what fits already stays.
	s, err = Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	failing := Config{New: func(testing.TB) Engine { return &canned{err: fault.Unsupported("not\n yet")} }}
	Run(t, s, failing, true)
	if s, err = Parse(path); err != nil {
		t.Fatal(err)
	}
	Run(t, s, failing, false)
	if e := s.Records[0].(*Statement).Err; e == nil || e.Category != fault.CategoryUnsupported || e.Text != "not yet" {
		t.Errorf("written error: %+v", e)
	}
}
