package ingest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// arrowStream is a stream of two rows.
func arrowStream(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	f := arrow.NewFramed(&out)
	w := arrow.NewWriter([]arrow.Column{
		{Field: arrow.Field{Name: "at", Type: arrow.Instant}},
		{Field: arrow.Field{Name: "s", Type: arrow.Text, Dictionary: &arrow.Encoding{Index: arrow.Int32}}},
		{Field: arrow.Field{Name: "b", Type: arrow.Bytes}},
		{Field: arrow.Field{Name: "l", Type: arrow.ListOf(arrow.Float64)}},
	}, f.Message)
	list := vector.NewBuilder(vector.ListOf(vector.Double), 2)
	list.Append([]any{1.5, nil})
	list.Append(nil)
	err := w.Batch(&vector.Batch{N: 2, Cols: []*vector.Vector{
		vector.FromLongs([]int64{1700000000000, 5}), vector.FromStrings([]string{"x", "y"}), vector.FromStrings([]string{"ab", ""}),
		list.Build(),
	}})
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.End()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestArrowStreams(t *testing.T) {
	stream := string(arrowStream(t))
	rows, bad, err := read(t, `{"type":"arrow","binaryAsString":true}`, stream,
		"at long s string b string l ARRAY<DOUBLE> missing long", Options{})
	want := [][]any{{int64(1700000000000), "x", "ab", []any{1.5, nil}, nil}, {int64(5), "y", "", nil, nil}}
	if err != nil || len(bad) != 0 || cmp.Diff(want, rows) != "" {
		t.Errorf("%v, %v: %s", err, bad, cmp.Diff(want, rows))
	}
	for _, wrong := range []string{stream[:len(stream)/2], "{}\n{}\n{}", "ARROW1\x00\x00" + stream} {
		_, _, err := read(t, `{"type":"arrow"}`, wrong, "at long", Options{})
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, "Arrow stream is damaged") {
			t.Errorf("%d bytes: %v", len(wrong), err)
		}
	}
	f, err := ParseFormat([]byte(`{"type":"arrow","binaryAsString":true}`))
	if err != nil || f.Type() != "arrow" {
		t.Fatal(f, err)
	}
}

// TestLongRowsOfArrow refuses a row that is longer than a record may be, and reads those beside it.
func TestLongRowsOfArrow(t *testing.T) {
	var out bytes.Buffer
	f := arrow.NewFramed(&out)
	w := arrow.NewWriter([]arrow.Column{{Field: arrow.Field{Name: "s", Type: arrow.Text}}}, f.Message)
	texts := vector.FromStrings([]string{"a", strings.Repeat("x", 2000), "b"})
	if err := errors.Join(w.Batch(&vector.Batch{N: 3, Cols: []*vector.Vector{texts}}), w.Flush(), f.End()); err != nil {
		t.Fatal(err)
	}
	rows, bad, err := read(t, `{"type":"arrow"}`, out.String(), "s string", Options{MaxRecordBytes: 1000, ChunkBytes: 1000})
	if err != nil || len(bad) != 1 || !strings.Contains(bad[0], "Record: 2") || cmp.Diff([][]any{{"a"}, {"b"}}, rows) != "" {
		t.Errorf("%v, %v, %v", rows, bad, err)
	}
}
