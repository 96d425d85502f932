//go:build invariants

package ingest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/invariant"
)

// A chunk is released when it is recycled, and what the chunker still needs of its buffer is not.
func TestChunksAreReleased(t *testing.T) {
	c := &chunker{r: strings.NewReader("ab\ncd\nef\n"), cut: lineCutter{}, size: 7, max: 100, end: -1, free: make(chan []byte, 1)}
	first, err := c.next()
	if err != nil || string(first.data) != "ab\ncd\n" {
		t.Fatalf("the first chunk is %q, %v", first.data, err)
	}
	c.recycle(first)
	if !bytes.Equal(first.data, bytes.Repeat([]byte{invariant.PoisonedByte}, 6)) {
		t.Errorf("a released chunk reads as %q", first.data)
	}
	second, err := c.next()
	if err != nil || string(second.data) != "ef\n" {
		t.Errorf("the second chunk is %q, %v", second.data, err)
	}
}
