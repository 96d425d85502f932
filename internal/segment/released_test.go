//go:build invariants

package segment

import (
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// What was read is released with the next read into the same buffer, and with its segment.
func TestVectorsAreReleased(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(7, 7)), 40, 0)
	file := writeRows(t, allTypes, rows, Options{}, 40)
	s := openBytes(t, file)
	column := func(r Reader, name string) Column {
		c, err := r.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	read := func(c Column, buf *Buffer) *vector.Vector {
		v, err := c.Read(buf, 0, 20)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var buf Buffer
	codes := read(column(s, "low"), &buf).Codes
	read(column(s, "low"), &buf)
	if codes[0] != invariant.Poisoned[uint32]() {
		t.Errorf("a released code reads as %d", codes[0])
	}
	b := s.bytes.(*ranged).lent.spans[0]
	if b[0] == invariant.PoisonedByte {
		t.Fatal("memory of a segment is poison while it is open")
	}
	s.Release()
	if b[0] != invariant.PoisonedByte {
		t.Errorf("memory of a released segment reads as %x", b[0])
	}
}

func TestRowsOfAGrowingSegmentAreReleased(t *testing.T) {
	l := newLive(t, Options{})
	rows := randomRows(rand.New(rand.NewPCG(8, 8)), 30, 0)
	if err := l.Append(t.Context(), batchesOf(allTypes, rows, 30)[0]); err != nil {
		t.Fatal(err)
	}
	r := l.Reader()
	c, err := r.Column(TimeColumn)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Read(nil, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	times := v.Longs
	l.Release()
	if times[0] == invariant.Poisoned[int64]() {
		t.Error("rows are released while a reader has them")
	}
	r.Release()
	if times[0] != invariant.Poisoned[int64]() {
		t.Errorf("a released time reads as %d", times[0])
	}
}
