package segment

import (
	"encoding/binary"
	"math/bits"

	"github.com/hengedb/henge/internal/vector"
)

// selectRows is how many values SelectLongs decodes at once: they stay in the first cache.
const selectRows = 512

// SelectLongs is part of Column. Bounds are held against values as they are stored.
func (c *fileColumn) SelectLongs(least, greatest int64, from, to int, pass vector.Bitmap) error {
	return c.seg.guard(func() error {
		clear(pass)
		for row := from; row < to; {
			f := &c.frames[row/BlockRows]
			lo := row % BlockRows
			n := min(to-row, BlockRows-lo)
			if err := c.data.touch(f.offset()+f.byteOf(lo), f.offset()+f.bytesBefore(lo+n)); err != nil {
				return err
			}
			f.between(least, greatest, c.data.b, lo, n, pass, row-from)
			row += n
		}
		c.dropNulls(pass, from, to)
		return nil
	})
}

// between sets the bits from at on of those of n values, from row lo of the block on, that lie
// between least and greatest, both included.
func (f *frameBlock) between(least, greatest int64, data []byte, lo, n int, pass vector.Bitmap, at int) {
	switch {
	case least > greatest || f.Max < least || f.Min > greatest:
		return
	case f.Min >= least && f.Max <= greatest:
		pass.SetRange(at, at+n)
		return
	}
	stored := frameBlock{Unit: 1, Location: f.Location} // its values are those stored
	first, span := uint64(least), uint64(greatest)-uint64(least)
	if f.width() != 8 {
		first, span = 0, (uint64(min(greatest, f.Max))-uint64(f.Min))/f.Unit
		if least > f.Min {
			below := uint64(least) - uint64(f.Min) - 1
			if first = below/f.Unit + 1; first > span {
				return
			}
			span -= first
		}
	}
	if w := f.width(); w > 0 && f.packed() == 0 && at&63 == 0 {
		whole := n &^ 63
		from, words := f.offset()+lo*w, pass[at/64:(at+whole)/64]
		switch {
		case w == 8 || span < (uint64(f.Max)-uint64(f.Min))/f.Unit/rareBetween:
			bytesBetween(data, from, w, first, span, words)
		case first == 0:
			bytesAbove(data, from, w, span, ^uint64(0), words)
		case greatest >= f.Max:
			bytesAbove(data, from, w, first-1, 0, words)
		default:
			bytesBetween(data, from, w, first, span, words)
		}
		lo, at, n = lo+whole, at+whole, n-whole
	}
	if b := f.packed(); b > 0 && b <= 8 && at&63 == 0 && lo&7 == 0 {
		whole := n &^ 63
		bitsBetween(data[f.offset()+lo/8*int(b):], b, first, span, pass[at/64:(at+whole)/64])
		lo, at, n = lo+whole, at+whole, n-whole
	}
	var values [selectRows]int64
	for n > 0 {
		part := values[:min(n, selectRows)]
		stored.decode(part, data, lo)
		for i := 0; i < len(part); i += 64 {
			few := part[i:min(i+64, len(part))]
			word := longsBetween(few, first, span)
			w, shift := at>>6, uint(at)&63
			pass[w] |= word << shift
			if over := word >> 1 >> (63 - shift); over != 0 {
				pass[w+1] |= over
			}
			at += len(few)
		}
		lo, n = lo+len(part), n-len(part)
	}
}

// bitsBetween sets pass to a bit for each of the values of b bits, of 1 to 8, that data begins
// with, 64 for each of its words: whether it is first or one of the span after it. Data reaches
// frameSlack bytes beyond the last value.
//
// Eight values are compared at once. Every second of them has room for a carry once the others are
// gone: what is added to it carries if it is no less than first, or more than the last that passes.
func bitsBetween(data []byte, b uint, first, span uint64, pass []uint64) {
	top := uint64(1) << b // more than any value
	if first >= top {
		clear(pass)
		return
	}
	span = min(span, top-1-first)
	b &= 15 // what the compiler does not know otherwise
	var values, carries, reach, exceed uint64
	for k := uint(0); k < 8; k += 2 {
		values |= (top - 1) << (k * b)
		carries |= top << (k * b)
		reach |= (top - first) << (k * b)
		exceed |= (top - 1 - first - span) << (k * b)
	}
	// The bits of eight values, every b-th, move together: first to pairs, then to fours.
	var pairs, fours uint64
	for k := uint(0); k < 8; k += 2 {
		pairs |= 3 << (k * b)
	}
	fours = 0xf | 0xf<<(4*b)
	for i := range pass {
		var word uint64
		for k := range uint(8) {
			x := binary.LittleEndian.Uint64(data[k*b:])
			even, odd := x&values, x>>b&values
			even = (even + reach) &^ (even + exceed) & carries
			odd = (odd + reach) &^ (odd + exceed) & carries
			found := even>>b | odd
			found = (found | found>>(b-1)) & pairs
			found = (found | found>>(2*b-2)) & fours
			found |= found >> (4*b - 4)
			word = word>>8 | found<<56
		}
		pass[i] = word
		data = data[8*b:]
	}
}

// longsBetween returns a bit for each of at most 64 values: whether it is first or one of the span
// after it. From the last value to the first, the carry of each subtraction is added to twice the
// word.
func longsBetween(values []int64, first, span uint64) uint64 {
	var word, beyond uint64
	n := len(values)
	for ; n&7 != 0; n-- {
		_, beyond = bits.Sub64(span, uint64(values[n-1])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
	}
	for ; n >= 8; n -= 8 {
		x := (*[8]int64)(values[n-8:])
		_, beyond = bits.Sub64(span, uint64(x[7])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[6])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[5])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[4])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[3])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[2])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[1])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
		_, beyond = bits.Sub64(span, uint64(x[0])-first, 0)
		word, _ = bits.Add64(word, word, beyond)
	}
	return ^word & (^uint64(0) >> (64 - len(values)))
}
