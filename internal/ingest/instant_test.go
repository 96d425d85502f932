package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/vector"
)

// TestFlawedRows reads rows whose time or numbers are not what they must be: without a time they
// are none, and each is told of with its record.
func TestFlawedRows(t *testing.T) {
	type row struct {
		T *string `parquet:"t,optional"`
		N *string `parquet:"n,optional"`
		K string  `parquet:"k"`
	}
	text := func(s string) *string { return &s }
	var groups [][]row
	for range 2 {
		groups = append(groups, []row{{text("2024-01-01"), text("1"), "a"}, {text("soon"), text("2"), "b"}, {nil, text("3"), "c"},
			{text("1000"), text("many"), "d"}, {text("2024-01-02"), nil, "e"}})
	}
	json2 := strings.Repeat(`{"t":"2024-01-01","n":1,"k":"a"}
{"t":"so\u006fn","n":2,"k":"b"}
{"t":null,"n":3,"k":"c"}
{"t":1000,"n":"many","k":"d"}
{"t":"2024-01-02","k":"e"}
`, 2)
	want := [][]any{{int64(1704067200000), int64(1), "a", "2024-01-01"}, {int64(1000), nil, "d", "1000"}, {int64(1704153600000), nil, "e", "2024-01-02"}}
	want = append(want, want...)
	wantBad := []string{"soon b", "none c", "1000 d", "soon b", "none c", "1000 d"}
	for name, c := range map[string]struct{ format, data string }{
		"json":    {`{"type":"json"}`, json2},
		"flatten": {`{"type":"json","flattenSpec":{"fields":[{"type":"path","name":"k","expr":"$.k"}]}}`, json2},
		"csv":     {`{"type":"csv","columns":["t","n","k"]}`, strings.Repeat("2024-01-01,1,a\nsoon,2,b\n,3,c\n1000,many,d\n2024-01-02,,e\n", 2)},
		"parquet": {`{"type":"parquet"}`, string(writeParquet(t, groups...))},
	} {
		t.Run(name, func(t *testing.T) {
			format, err := ParseFormat(json.RawMessage(c.format))
			if err != nil {
				t.Fatal(err)
			}
			auto, err := chrono.ParseTimestampFormat("auto")
			if err != nil {
				t.Fatal(err)
			}
			table := &Table{Source: &Inline{Data: c.data}, Format: format, Fields: []Field{{Name: "t", Type: vector.Long, Time: &Instants{Format: auto}},
				{Name: "n", Type: vector.Long, Strict: true}, {Name: "k", Type: vector.String}, {Name: "t", Type: vector.String}}}
			var bad []string
			shape := &Shape{}
			for _, opts := range []*Options{{}, {Shape: shape}, {Decoders: 2, ChunkBytes: 40}} {
				bad = nil
				opts.OnParseError = func(e *ParseError) error {
					at, _ := e.Flat.Get("t")
					who, _ := e.Object.Get("k")
					if at == nil || at == "" {
						at = "none"
					}
					bad = append(bad, fmt.Sprint(at, " ", who))
					return nil
				}
				var rows [][]any
				r, err := table.Open(t.Context(), Split{Entity: inlineEntity{c.data}, End: -1}, opts)
				for err == nil {
					var b *vector.Batch
					if b, err = r.Next(t.Context()); err == nil {
						for i := range b.N {
							row := make([]any, len(b.Cols))
							for c, v := range b.Cols {
								row[c] = v.ValueAt(i)
							}
							rows = append(rows, row)
						}
					}
				}
				if d := cmp.Diff(want, rows); d != "" || !errors.Is(err, io.EOF) {
					t.Errorf("%v %s", err, d)
				}
				if d := cmp.Diff(wantBad, bad); d != "" {
					t.Error(d)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if d := cmp.Diff([]string{"t", "n", "k"}, shape.Names()); d != "" && name != "flatten" {
				t.Error(d)
			}
			if k := shape.Of("k"); k.traits() != someField|someText {
				t.Errorf("a shape knows %+v", k)
			}
		})
	}
}
