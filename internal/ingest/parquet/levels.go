package parquet

import (
	"encoding/binary"
	"math/bits"
)

var (
	errLevelsEnd = damaged("a page ends within its levels")
	errRunsEnd   = damaged("a page ends before its last value")
	errRuns      = damaged("the runs of a page are malformed")
)

// runs walks over the hybrid of the encoding RLE: each run begins with a number whose lowest bit
// says what follows, groups of eight packed values, or one value that is repeated.
//
//	| (groups << 1) | 1 | groups * width bytes |
//	| (times << 1)      | value in (width+7)/8 bytes |
type runs struct {
	src   []byte
	width int
}

// next returns the run with which at most left values go on: count of them, in packed if that is
// not nil, else all of one value. The last run may be cut behind the last value that counts: some
// writers do that.
func (r *runs) next(left int) (count int, packed []byte, value uint32, err error) {
	for count == 0 {
		if len(r.src) == 0 {
			return 0, nil, 0, errRunsEnd
		}
		head, size := binary.Uvarint(r.src)
		if size <= 0 {
			return 0, nil, 0, errRuns
		}
		r.src = r.src[size:]
		n := head >> 1
		switch {
		case head&1 == 0:
			if value, err = r.value(); err != nil {
				return 0, nil, 0, err
			}
			count = int(min(n, uint64(left)))
		case r.width == 0:
			count = int(min(min(n, uint64(left))*8, uint64(left)))
		default:
			groups := min(n, uint64(len(r.src)/r.width+1))
			packed = r.src[:min(groups*uint64(r.width), uint64(len(r.src)))]
			r.src = r.src[len(packed):]
			count = min(len(packed)*8/r.width, int(groups)*8, left)
			if count == 0 && n > 0 {
				return 0, nil, 0, errRunsEnd
			}
		}
	}
	return count, packed, value, nil
}

// value reads the value of a repeated run.
func (r *runs) value() (value uint32, err error) {
	size := (r.width + 7) / 8
	if len(r.src) < size {
		return 0, errRunsEnd
	}
	for i := size - 1; i >= 0; i-- {
		value = value<<8 | uint32(r.src[i])
	}
	r.src = r.src[size:]
	if r.width < 32 && value>>r.width != 0 {
		return 0, errRuns
	}
	return value, nil
}

// readHybrid fills out with numbers of width bits, at most 32.
func readHybrid(out []uint32, src []byte, width int) error {
	r := runs{src, width}
	for len(out) > 0 {
		n, packed, value, err := r.next(len(out))
		if err != nil {
			return err
		}
		if packed != nil {
			unpackBits(out[:n], packed, width)
		} else {
			fill(out[:n], value)
		}
		out = out[n:]
	}
	return nil
}

func fill[T any](out []T, value T) {
	for i := range out {
		out[i] = value
	}
}

// unpackBits fills out with the numbers of width bits, 1 to 32, at the start of src, which has them
// all.
func unpackBits(out []uint32, src []byte, width int) {
	mask := uint64(1)<<width - 1
	// Eight bytes hold eight, four or at least one value. Eight values are as many bytes as one has
	// bits.
	switch {
	case width <= 8:
		for len(out) >= 8 && len(src) >= 8 {
			x, o := binary.LittleEndian.Uint64(src), out[:8]
			for i := range o {
				o[i] = uint32(x & mask)
				x >>= width
			}
			out, src = out[8:], src[width:]
		}
	case width <= 16:
		for len(out) >= 8 && len(src) >= width/2+8 {
			x, y, o := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[width/2:])>>(width&1*4), out[:8]
			for i := range 4 {
				o[i], o[i+4] = uint32(x&mask), uint32(y&mask)
				x, y = x>>width, y>>width
			}
			out, src = out[8:], src[width:]
		}
	}
	at, i := 0, 0 // at is in bits
	for ; i < len(out) && at>>3+8 <= len(src); i++ {
		out[i] = uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask)
		at += width
	}
	for ; i < len(out); i++ {
		out[i] = uint32(tailBits(src[at>>3:]) >> (at & 7) & mask)
		at += width
	}
}

// tailBits returns the first eight bytes of src, as if zeros came after it.
func tailBits(src []byte) uint64 {
	var b [8]byte
	copy(b[:], src)
	return binary.LittleEndian.Uint64(b[:])
}

// spread has the bits of a byte as bytes.
var spread = func() (t [256]uint64) {
	for i := range t {
		for bit := range 8 {
			t[i] |= uint64(i>>bit&1) << (8 * bit)
		}
	}
	return t
}()

// readLevels reads n levels, each at most most, into buf if it has the room.
func readLevels(buf, src []byte, n, most int) ([]byte, error) {
	width := bits.Len(uint(most))
	out := room(buf, n)
	if err := readBytes(out, src, width); err != nil {
		return out, err
	}
	return out, checkLevels(out, most)
}

// readBytes fills out with numbers of width bits, at most 8.
func readBytes(out, src []byte, width int) error {
	r := runs{src, width}
	for len(out) > 0 {
		n, packed, value, err := r.next(len(out))
		if err != nil {
			return err
		}
		switch {
		case packed == nil:
			fill(out[:n], byte(value))
		case width == 1:
			spreadBits(out[:n], packed)
		default:
			unpackSmall(out[:n], packed, width)
		}
		out = out[n:]
	}
	return nil
}

// spreadBits fills out with the bits of src.
func spreadBits(out, src []byte) {
	for len(out) >= 8 {
		binary.LittleEndian.PutUint64(out, spread[src[0]])
		out, src = out[8:], src[1:]
	}
	for i := range out {
		out[i] = src[0] >> i & 1
	}
}

// unpackSmall fills out with numbers of width bits, at most 8.
func unpackSmall(out, src []byte, width int) {
	mask := byte(1<<width - 1)
	for at := 0; len(out) > 0; at += width {
		// Eight values take width bytes.
		n := min(len(out), 8)
		word := tailBits(src[at:min(len(src), at+8)])
		for i := range out[:n] {
			out[i] = byte(word) & mask
			word >>= width
		}
		out = out[n:]
	}
}

// readPackedLevels reads levels of the encoding BIT_PACKED of old writers: without runs, the
// highest bit of a byte first.
func readPackedLevels(buf, src []byte, n, most int) ([]byte, error) {
	width := bits.Len(uint(most))
	out := room(buf, n)
	for i := range out {
		var level byte
		for at := i * width; at < (i+1)*width; at++ {
			level = level<<1 | src[at>>3]>>(7-at&7)&1
		}
		out[i] = level
	}
	return out, checkLevels(out, most)
}

func checkLevels(levels []byte, most int) error {
	if most&(most+1) == 0 {
		return nil // the width holds no greater
	}
	for _, l := range levels {
		if int(l) > most {
			return damaged("a page has the level [%d] where the highest is [%d]", l, most)
		}
	}
	return nil
}
