package result

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

func TestArrow(t *testing.T) {
	zone, err := chrono.LoadZone("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	midnight := int64(1_700_024_400_000) // 2023-11-15 in New York
	columns := []Column{
		{"s", expr.Of(expr.Varchar)}, {"i", expr.Of(expr.Integer)}, {"d", expr.Of(expr.Decimal)}, {"f", expr.Of(expr.Float)},
		{"b", expr.Of(expr.Boolean)}, {"t", expr.Of(expr.Timestamp)}, {"day", expr.Of(expr.Date)}, {"m", expr.MultiString},
		{"a", expr.ArrayOf(expr.ArrayOf(expr.Of(expr.BigInt)))}, {"days", expr.ArrayOf(expr.Of(expr.Date))}, {"j", expr.JSON},
		{"sketch", expr.ComplexOf("HLLSketch")}, {"none", expr.Of(expr.Null)}, {"bools", expr.ArrayOf(expr.Of(expr.Boolean))},
	}
	values := [][]any{
		{"x", int64(7), 1.25, float32(0.5), int64(1), midnight, midnight, []any{"p", nil}, []any{[]any{int64(1)}, nil}, []any{midnight},
			`{"k":1}`, "\x01\xff", nil, []any{int64(0), int64(1)}},
		{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
	}
	b := &vector.Batch{N: len(values)}
	for i, c := range columns {
		column := []any{}
		for _, row := range values {
			column = append(column, row[i])
		}
		b.Cols = append(b.Cols, build(c.Type, column...))
	}
	var out bytes.Buffer
	w := NewWriter(&out, columns, Options{Format: Arrow, Header: true, Zone: zone})
	if err := errors.Join(w.Batch(b), w.Flush()); err != nil || out.Len() == 0 {
		t.Fatal("nothing was flushed", err)
	}
	w.Raw([]byte(`{"error":1}`))
	w.Begin()
	if err := errors.Join(w.Batch(b), w.Close()); err != nil || w.Bytes() != int64(out.Len()) {
		t.Fatal(err, w.Bytes(), out.Len())
	}
	day := int64(1_700_006_400_000)
	want := [][]any{
		{"x", int64(7), 1.25, float32(0.5), true, midnight, day, []any{"p", nil}, []any{[]any{int64(1)}, nil}, []any{day},
			`{"k":1}`, []byte("\x01\xff"), nil, []any{false, true}},
		{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
	}
	want = append(want, want...)
	r := arrow.NewReader(&out)
	var got [][]any
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Rows {
			var row []any
			for _, c := range batch.Columns {
				row = append(row, c.Value(i))
			}
			got = append(got, row)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || !r.Ended() {
		t.Error(diff)
	}
	schema, err := r.Schema()
	if err != nil || schema.Fields[0].Dictionary == nil || schema.Fields[10].Dictionary != nil || schema.Fields[7].Dictionary != nil {
		t.Errorf("%+v, %v", schema, err)
	}
}

// A stream without rows has a schema, and one that is not closed no end.
func TestArrowWithoutRows(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, users, Options{Format: Arrow})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := out.Len()
	r := arrow.NewReader(&out)
	if s, err := r.Schema(); err != nil || len(s.Fields) != len(users) {
		t.Error(s, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) || !r.Ended() {
		t.Error(err)
	}
	var cut bytes.Buffer
	w = NewWriter(&cut, users, Options{Format: Arrow})
	if err := errors.Join(w.Batch(usersBatch()), w.Flush()); err != nil || cut.Len() <= whole {
		t.Fatal(err)
	}
	r = arrow.NewReader(&cut)
	if _, err := r.Next(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) || r.Ended() {
		t.Error("a stream that broke off looks whole", err)
	}
}
