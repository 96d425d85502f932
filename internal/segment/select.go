package segment

import (
	"encoding/binary"

	"github.com/hengedb/henge/internal/vector"
)

// CodeFilter are the entries of a dictionary that a filter looks for: First and the Span after it, or if Bits is not nil those whose bit is
// set.
type CodeFilter struct {
	First, Span uint32
	Bits        []uint64 // a bit for each entry of the dictionary
}

// SelectCodes writes the rows from up to, not including, to, counted from from, whose code passes f and is not null to out, which is longer
// than there are rows, and returns how many they are. It reads codes as they are stored.
func (c *fileColumn) SelectCodes(f CodeFilter, from, to int, out []uint32) (n int, err error) {
	err = c.seg.guard(func() error {
		n, err = c.selectCodes(f, from, to, out)
		return err
	})
	return n, err
}

func (c *fileColumn) selectCodes(f CodeFilter, from, to int, out []uint32) (int, error) {
	w := c.meta.width
	n := 0
	if w == 0 {
		if f.Bits == nil && f.First == 0 || f.Bits != nil && f.Bits[0]&1 != 0 {
			for n = range to - from {
				out[n] = uint32(n)
			}
			n = to - from
		}
	} else if err := c.codes.touch(from*w, to*w); err != nil {
		return 0, err
	} else {
		switch b := c.codes.b[from*w : to*w]; {
		case w == 1 && f.Bits == nil && f.Span == 0:
			n = equalBytes(b, byte(f.First), out)
		case w == 1:
			n = bytesIn(b, f, c.meta.dictSize, out)
		case w == 2:
			n = codesIn(view[uint16](b), f, out)
		case w == 4:
			n = codesIn(view[uint32](b), f, out)
		}
	}
	if c.valid == nil {
		return n, nil
	}
	k := 0
	for _, r := range out[:n] {
		out[k] = r
		at := uint(from) + uint(r)
		k += int(c.valid[at>>6] >> (at & 63) & 1)
	}
	return k, nil
}

// equalBytes compares eight codes at once: a word without the wanted one is passed over.
func equalBytes(b []byte, x byte, out []uint32) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	n, i := 0, 0
	pattern := uint64(x) * low
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:]) ^ pattern
		if (w-low)&^w&high == 0 {
			continue
		}
		for k := range 8 {
			out[n] = uint32(i + k)
			if byte(w>>(8*k)) == 0 {
				n++
			}
		}
	}
	for ; i < len(b); i++ {
		if b[i] == x {
			out[n] = uint32(i)
			n++
		}
	}
	return n
}

func bytesIn(b []byte, f CodeFilter, entries int, out []uint32) int {
	var pass [256]uint8
	for c := range uint32(min(entries, 256)) {
		if f.Bits == nil && c-f.First <= f.Span || f.Bits != nil && vector.Bitmap(f.Bits).Get(int(c)) {
			pass[c] = 1
		}
	}
	n := 0
	out = out[:len(b)+1]
	for i, c := range b {
		out[n] = uint32(i)
		n += int(pass[c])
	}
	return n
}

func codesIn[T uint16 | uint32](codes []T, f CodeFilter, out []uint32) int {
	n := 0
	out = out[:len(codes)+1]
	if f.Bits == nil {
		first, span := f.First, f.Span
		for i, c := range codes {
			out[n] = uint32(i)
			if uint32(c)-first <= span {
				n++
			}
		}
		return n
	}
	bits := f.Bits
	for i, c := range codes {
		out[n] = uint32(i)
		n += int(bits[c>>6] >> (c & 63) & 1)
	}
	return n
}
