package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// Lines without quotes are split in one pass as they are split field by field.
func TestBareLinesAreSplitAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	alphabet := []byte(",,\n\r\x00ab\xac\x8a\x8b+-\x2d;")
	for range 20_000 {
		text := make([]byte, r.IntN(60))
		for i := range text {
			text[i] = alphabet[r.IntN(len(alphabet))]
		}
		delimiter := []string{",", ";"}[r.IntN(2)]
		all := func(bare bool) string {
			var out bytes.Buffer
			s := &splitter{text: text, delimiter: []byte(delimiter), quotes: true, bare: bare, line: 1}
			for s.next() {
				fmt.Fprintf(&out, "%d %q %s", s.recordLine, s.record, s.problem)
				for i := range s.fields {
					fmt.Fprintf(&out, " %q", s.field(i))
				}
				out.WriteByte('|')
			}
			return out.String()
		}
		if got, want := all(true), all(false); got != want {
			t.Fatalf("%q is split into\n%s, want\n%s", text, got, want)
		}
	}
	many := bytes.Repeat([]byte(","), record.MaxFields)
	for _, bare := range []bool{true, false} {
		s := &splitter{text: append(many, "\nx\n"...), delimiter: []byte(","), bare: bare}
		if !s.next() || s.problem == "" || len(s.fields) != record.MaxFields || !s.next() || s.problem != "" || len(s.fields) != 1 {
			t.Errorf("bare %v: %d fields, %q", bare, len(s.fields), s.problem)
		}
	}
}

// The rows of a chunk that are more than one batch holds are divided evenly, once it is known how
// many there are in so many bytes.
func TestBatchesOfChunksAreEven(t *testing.T) {
	const perChunk = vector.BatchRows * 5 / 4
	line := []byte("12345,67\n")
	d, err := (&Delimited{kind: "csv", Delimiter: ",", Columns: []string{"a", "b"}}).open(fields(t, "a long b string"), nil, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	chunkOf := chunk{data: bytes.Repeat(line, perChunk)}
	for i, want := range [][]int{{vector.BatchRows, perChunk - vector.BatchRows}, {2641, perChunk - 2641}, {2641, perChunk - 2641}} {
		out := decodeChunk(d, chunkOf)
		var got []int
		for _, b := range out.batches {
			got = append(got, b.N)
		}
		if !slices.Equal(got, want) || out.err != nil {
			t.Errorf("chunk %d: batches of %d rows, %v, want %d", i, got, out.err, want)
		}
	}
	if out := decodeChunk(d, chunk{data: bytes.Repeat(line, 100)}); len(out.batches) != 1 || out.batches[0].N != 100 {
		t.Errorf("a small chunk has %d batches", len(out.batches))
	}
}
