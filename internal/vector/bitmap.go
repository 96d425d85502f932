package vector

import (
	"math/bits"
	"slices"
)

// Bitmap is a set of row numbers: bit i of word i/64. As a validity map a set bit means the row has
// a value, and a nil Bitmap means that every row has one.
type Bitmap []uint64

// NewBitmap returns a bitmap of n clear bits.
func NewBitmap(n int) Bitmap { return make(Bitmap, (n+63)/64) }

// FullBitmap returns a bitmap of n set bits.
func FullBitmap(n int) Bitmap {
	b := NewBitmap(n)
	b.SetRange(0, n)
	return b
}

// Get reports whether bit i is set; a nil bitmap has all bits set.
func (b Bitmap) Get(i int) bool { return b == nil || b[uint(i)>>6]&(1<<(uint(i)&63)) != 0 }

// Set sets bit i.
func (b Bitmap) Set(i int) { b[uint(i)>>6] |= 1 << (uint(i) & 63) }

// Clear clears bit i.
func (b Bitmap) Clear(i int) { b[uint(i)>>6] &^= 1 << (uint(i) & 63) }

// SetRange sets bits lo to hi (exclusive).
func (b Bitmap) SetRange(lo, hi int) {
	for lo < hi && lo&63 != 0 {
		b.Set(lo)
		lo++
	}
	for ; lo+64 <= hi; lo += 64 {
		b[lo>>6] = ^uint64(0)
	}
	for ; lo < hi; lo++ {
		b.Set(lo)
	}
}

// Count returns the number of set bits among the first n.
func (b Bitmap) Count(n int) int {
	if b == nil {
		return n
	}
	c := 0
	for i := 0; i < n>>6; i++ {
		c += bits.OnesCount64(b[i])
	}
	if r := uint(n) & 63; r != 0 {
		c += bits.OnesCount64(b[n>>6] & (1<<r - 1))
	}
	return c
}

// Rows appends the numbers of the set bits in ascending order.
func (b Bitmap) Rows(out []uint32) []uint32 {
	n := len(out)
	out = slices.Grow(out, b.Count(64*len(b)))
	out = out[:cap(out)]
	for w, x := range b {
		for ; x != 0; x &= x - 1 {
			out[n] = uint32(w<<6 + bits.TrailingZeros64(x))
			n++
		}
	}
	return out[:n]
}

// And intersects two validity maps of n rows; either may be nil. The result may share storage with
// an argument.
func And(a, b Bitmap, n int) Bitmap {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := NewBitmap(n)
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return out
}

// Choose returns the validity map of n rows: the rows in taken are from a column with map a, the
// others from a column with map b. Both maps may be nil.
func Choose(taken, a, b Bitmap, n int) Bitmap {
	if a == nil && b == nil {
		return nil
	}
	out := NewBitmap(n)
	for i := range out {
		out[i] = ^uint64(0)
		if a != nil {
			out[i] &= a[i] | ^taken[i]
		}
		if b != nil {
			out[i] &= b[i] | taken[i]
		}
	}
	if r := uint(n) & 63; r != 0 {
		out[n>>6] &= 1<<r - 1
	}
	return out
}
