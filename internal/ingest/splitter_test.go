package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
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
				fmt.Fprintf(&out, "%d %q %q %s|", s.recordLine, s.record, s.fields, s.problem)
			}
			return out.String()
		}
		if got, want := all(true), all(false); got != want {
			t.Fatalf("%q is split into\n%s, want\n%s", text, got, want)
		}
	}
	many := bytes.Repeat([]byte(","), maxFields)
	for _, bare := range []bool{true, false} {
		s := &splitter{text: append(many, "\nx\n"...), delimiter: []byte(","), bare: bare}
		if !s.next() || s.problem == "" || len(s.fields) != maxFields || !s.next() || s.problem != "" || len(s.fields) != 1 {
			t.Errorf("bare %v: %d fields, %q", bare, len(s.fields), s.problem)
		}
	}
}
