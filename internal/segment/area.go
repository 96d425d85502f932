package segment

import (
	"hash/crc32"
	"sync/atomic"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func updateChecksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// area is one part of a column in memory. Its bytes may be used only after touch has accepted them.
type area struct {
	file   string
	column string
	kind   partKind
	at     int64 // offset in the file
	b      []byte

	log2 uint     // size of a checksummed chunk
	sums []uint32 // checksum of each chunk
	seen []uint64 // atomically: bit per chunk that was found good
	// damaged is set when something in the file turns out to be corrupt.
	damaged *atomic.Bool

	// check looks at the contents of a chunk, whose first byte is byte at of the part, beyond its
	// checksum; may be nil. It returns what is wrong, or "".
	check func(chunk []byte, at int) string
}

// touch accepts bytes lo up to, not including, hi of the part, or says that they are corrupt.
// Chunks that were accepted once cost a bit test each. It is called from any goroutine: checking a
// chunk twice at the same time does no harm.
func (a *area) touch(lo, hi int) error {
	if lo >= hi {
		return nil
	}
	for c := lo >> a.log2; c <= (hi-1)>>a.log2; c++ {
		if atomic.LoadUint64(&a.seen[c>>6])&(1<<(uint(c)&63)) == 0 {
			if err := a.verify(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// all accepts the whole part and returns its bytes.
func (a *area) all() ([]byte, error) { return a.b, a.touch(0, len(a.b)) }

func (a *area) verify(c int) error {
	lo := c << a.log2
	chunk := a.b[lo:min(lo+1<<a.log2, len(a.b))]
	if checksum(chunk) != a.sums[c] {
		return a.corrupt(lo, "a checksum of its "+a.kind.String()+" does not match")
	}
	if a.check != nil {
		if reason := a.check(chunk, lo); reason != "" {
			return a.corrupt(lo, reason)
		}
	}
	atomic.OrUint64(&a.seen[c>>6], 1<<(uint(c)&63))
	return nil
}

// corrupt returns the error for byte at of the part.
func (a *area) corrupt(at int, reason string) error {
	a.damaged.Store(true)
	return (&CorruptError{File: a.file, Column: a.column, Offset: a.at + int64(at), Reason: reason}).fault()
}
