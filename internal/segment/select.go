package segment

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/hengedb/henge/internal/vector"
)

// CodeFilter are the entries of a dictionary that a filter looks for: First and the Span after it,
// or if Bits is not nil those whose bit is set.
type CodeFilter struct {
	First, Span uint32
	Bits        []uint64 // a bit for each entry of the dictionary
}

// passes reports whether an entry is looked for.
func (f *CodeFilter) passes(code uint32) bool {
	if f.Bits == nil {
		return code-f.First <= f.Span
	}
	return vector.Bitmap(f.Bits).Get(int(code))
}

// SelectCodes is part of Column. It reads codes as they are stored.
func (c *fileColumn) SelectCodes(f CodeFilter, from, to int, pass vector.Bitmap) error {
	return c.seg.guard(func() error {
		if err := c.selectCodes(f, from, to, pass); err != nil {
			return err
		}
		c.dropNulls(pass, from, to)
		return nil
	})
}

func (c *fileColumn) selectCodes(f CodeFilter, from, to int, pass vector.Bitmap) error {
	w := c.meta.width
	if w == 0 {
		clear(pass)
		if f.passes(0) {
			pass.SetRange(0, to-from)
		}
		return nil
	}
	if err := c.codes.touch(from*w, to*w); err != nil {
		return err
	}
	b := c.codes.b[from*w : to*w]
	switch w {
	case 1:
		selectBytes(b, f, pass)
	case 2:
		codesIn(view[uint16](b), f, pass)
	case 4:
		codesIn(view[uint32](b), f, pass)
	}
	return nil
}

// dropNulls clears the bits of the rows from up to, not including, to that have no value.
func (c *fileColumn) dropNulls(pass vector.Bitmap, from, to int) {
	if c.valid == nil {
		return
	}
	shift := uint(from) & 63
	for i := range pass[:(to-from+63)/64] {
		w := from>>6 + i
		x := c.valid[w] >> shift
		if shift > 0 && w+1 < len(c.valid) {
			x |= c.valid[w+1] << (64 - shift)
		}
		pass[i] &= x
	}
}

// The kernels below fill words of 64 rows, eight rows at a time: their bits enter a word at its
// highest byte and move down with those that follow. The bits of rows that are fewer than eight are
// set one by one.

// selectBytes sets the bits of the codes of one byte that pass.
func selectBytes(b []byte, f CodeFilter, pass vector.Bitmap) {
	var table [1 << 8]uint8
	switch {
	case f.Bits == nil && f.Span == 0:
		equalBytes(b, byte(f.First), pass)
		return
	case f.Bits == nil:
		for c := range table[f.First : min(f.First+f.Span, math.MaxUint8)+1] {
			table[int(f.First)+c] = 1
		}
	default:
		for w, x := range f.Bits[:min(len(f.Bits), len(table)/64)] {
			for ; x != 0; x &= x - 1 {
				table[w<<6+bits.TrailingZeros64(x)] = 1
			}
		}
	}
	bytesIn(b, &table, pass)
}

// equalBytes compares eight codes at once.
func equalBytes(b []byte, x byte, pass vector.Bitmap) {
	const low, rest = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	const gather = 0x0102040810204080 // moves the lowest bits of eight bytes into the highest byte
	pattern := uint64(x) * low
	for w := range pass[:len(b)/64] {
		chunk := (*[64]byte)(b[w*64:])
		var word uint64
		for k := 0; k < 64; k += 8 {
			v := binary.LittleEndian.Uint64(chunk[k:k+8]) ^ pattern
			other := (v&rest + rest) | v // its bytes have the highest bit unless they are 0 in v
			word = word>>8 | (^other>>7&low)*gather&(0xff<<56)
		}
		pass[w] = word
	}
	lastBytes(b, pass, func(c byte) bool { return c == x })
}

// bytesIn looks each code up in a table.
func bytesIn(b []byte, table *[1 << 8]uint8, pass vector.Bitmap) {
	for w := range pass[:len(b)/64] {
		chunk := (*[64]byte)(b[w*64:])
		var word uint64
		for k := 0; k < 64; k += 8 {
			c := (*[8]byte)(chunk[k : k+8])
			eight := table[c[0]] | table[c[1]]<<1 | table[c[2]]<<2 | table[c[3]]<<3 | table[c[4]]<<4 | table[c[5]]<<5 | table[c[6]]<<6 | table[c[7]]<<7
			word = word>>8 | uint64(eight)<<56
		}
		pass[w] = word
	}
	lastBytes(b, pass, func(c byte) bool { return table[c] != 0 })
}

// lastBytes sets the bits of the codes behind the last whole word of pass.
func lastBytes(b []byte, pass vector.Bitmap, f func(c byte) bool) {
	if part := b[len(b)&^63:]; len(part) > 0 {
		var word uint64
		for i, c := range part {
			word |= one(f(c)) << i
		}
		pass[len(b)/64] = word
	}
}

func codesIn[T uint16 | uint32](codes []T, f CodeFilter, pass vector.Bitmap) {
	for w := range pass[:(len(codes)+63)/64] {
		part := codes[w*64 : min(w*64+64, len(codes))]
		if f.Bits != nil {
			pass[w] = codesOf(part, f.Bits)
		} else {
			pass[w] = codesBetween(part, f.First, f.Span)
		}
	}
}

// codesOf returns a bit for each of at most 64 codes: whether its own is set in set.
func codesOf[T uint16 | uint32](codes []T, set []uint64) uint64 {
	var word uint64
	whole := len(codes) &^ 7
	for k := 0; k < whole; k += 8 {
		c := (*[8]T)(codes[k:])
		eight := bitOf(set, c[0]) | bitOf(set, c[1])<<1 | bitOf(set, c[2])<<2 | bitOf(set, c[3])<<3
		word = word>>8 | (eight|bitOf(set, c[4])<<4|bitOf(set, c[5])<<5|bitOf(set, c[6])<<6|bitOf(set, c[7])<<7)<<56
	}
	word >>= 64 - whole
	for i, c := range codes[whole:] {
		word |= bitOf(set, c) << (whole + i)
	}
	return word
}

func bitOf[T uint16 | uint32](set []uint64, code T) uint64 { return set[code>>6] >> (code & 63) & 1 }

// codesBetween returns a bit for each of at most 64 codes: whether it is first or one of the span
// after it.
func codesBetween[T uint16 | uint32](codes []T, first, span uint32) uint64 {
	var word uint64
	whole := len(codes) &^ 7
	for k := 0; k < whole; k += 8 {
		c := (*[8]T)(codes[k:])
		eight := one(uint32(c[0])-first <= span) | one(uint32(c[1])-first <= span)<<1 | one(uint32(c[2])-first <= span)<<2 | one(uint32(c[3])-first <= span)<<3
		word = word>>8 | (eight|one(uint32(c[4])-first <= span)<<4|one(uint32(c[5])-first <= span)<<5|one(uint32(c[6])-first <= span)<<6|one(uint32(c[7])-first <= span)<<7)<<56
	}
	word >>= 64 - whole
	for i, c := range codes[whole:] {
		word |= one(uint32(c)-first <= span) << (whole + i)
	}
	return word
}

func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
