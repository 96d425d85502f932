//go:build invariants

package vector

import (
	"bytes"
	"testing"

	"github.com/hengedb/henge/internal/invariant"
)

func TestGatheredRowsAreReleasedWithTheNextCall(t *testing.T) {
	var g Gatherer
	v := FromLongs([]int64{1, 2, 3})
	first := g.Gather(v, []uint32{1}).Longs
	second := g.Gather(v, []uint32{2}).Longs
	if first[0] != invariant.Poisoned[int64]() || second[0] != 3 {
		t.Errorf("rows read as %d and %d", first[0], second[0])
	}
	codes := g.Gather(FromCodes([]uint32{0, 1}, NewDict([]string{"a", "b"})), []uint32{1}).Codes
	g.Gather(FromCodes([]uint32{0, 1}, NewDict([]string{"a", "b"})), []uint32{0})
	if codes[0] != invariant.Poisoned[uint32]() {
		t.Errorf("a released code reads as %d", codes[0])
	}
}

// keeping is a writer that breaks its contract.
type keeping struct{ b []byte }

func (k *keeping) Write(b []byte) (int, error) { k.b = b; return len(b), nil }

func TestBytesOfFramesAreReleased(t *testing.T) {
	var k keeping
	if err := NewFrameWriter(&k).Write(&Batch{N: 1, Cols: []*Vector{FromLongs([]int64{1})}}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(k.b, bytes.Repeat([]byte{invariant.PoisonedByte}, len(k.b))) {
		t.Errorf("a frame that was written reads as %x", k.b)
	}
}
