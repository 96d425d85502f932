package segment

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// A column of a million different texts, collected in several runs, has them all in order, and
// finds each.
func TestAMillionDifferentTexts(t *testing.T) {
	const rows, step = 1_000_000, 7_919 // which has no factor of rows: every text occurs once
	text := func(i int) string { return fmt.Sprintf("%06x-value", i) }
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{Columns: []ColumnSpec{{Name: "s", Type: vector.String}}, TempDir: t.TempDir(), BufferBytes: 24 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for lo := 0; lo < rows; lo += vector.BatchRows {
		texts := make([]string, min(vector.BatchRows, rows-lo))
		for i := range texts {
			texts[i] = text((lo + i) * step % rows)
		}
		if err := w.Append(t.Context(), &vector.Batch{N: len(texts), Cols: []*vector.Vector{vector.FromStrings(texts)}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.runs) == 0 {
		t.Error("nothing was written before the end")
	}
	if _, err := w.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := openBytes(t, file.Bytes())
	defer s.Release()
	if info := s.Info().Column("s"); info.Distinct != rows || !info.DistinctExact {
		t.Errorf("%d different texts, exact %v", info.Distinct, info.DistinctExact)
	}
	c, err := s.Column("s")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < rows; i += 9_973 {
		if code, found, err := c.Lookup(text(i)); err != nil || !found || int(code) != i {
			t.Fatalf("%s has code %d, found %v: %v", text(i), code, found, err)
		}
	}
	var buf Buffer
	for from := 0; from < rows; from += 50_000 {
		v, err := c.Read(&buf, from, from+3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if got, want := v.StringAt(i), text((from+i)*step%rows); got != want {
				t.Fatalf("row %d is %s, want %s", from+i, got, want)
			}
		}
	}
}
