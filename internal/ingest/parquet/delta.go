package parquet

import "encoding/binary"

var (
	errDelta    = damaged("the differences of a page are malformed")
	errDeltaEnd = damaged("a page ends before its last difference")
)

// maxDeltaBlock bounds the values of a block: writers take 128 to 2,048.
const maxDeltaBlock = 1 << 24

// readDelta fills out with the numbers of DELTA_BINARY_PACKED at the start of src and returns what
// comes behind them. Sums wrap around, and differences may have more bits than the type of the
// values, as writers that compute with 64 bits make them.
//
//	| block size | miniblocks of a block | count | first value | block | block | ...
//	block: | least difference | a width per miniblock | differences less the least, packed |
func readDelta[T int32 | int64](out []T, src []byte) ([]byte, error) {
	t := thrift{b: src}
	block, minis, count, first := t.uvarint(), t.uvarint(), t.uvarint(), t.varint()
	if t.err != nil || block == 0 || block > maxDeltaBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 {
		return nil, errDelta
	}
	if count != uint64(len(out)) {
		return nil, damaged("a page has [%d] differences where its levels say [%d]", count, len(out))
	}
	src = src[t.at:]
	size := int(block / minis)
	acc := uint64(first)
	out[0] = T(acc)
	for out = out[1:]; len(out) > 0; {
		t := thrift{b: src}
		least := uint64(t.varint())
		if t.err != nil || uint64(len(src)-t.at) < minis {
			return nil, errDeltaEnd
		}
		widths := src[t.at : t.at+int(minis)]
		src = src[t.at+int(minis):]
		for _, width := range widths {
			if len(out) == 0 {
				break // miniblocks without values have no bytes
			}
			if width > 64 {
				return nil, errDelta
			}
			n := min(size, len(out))
			if (n*int(width)+7)/8 > len(src) {
				return nil, errDeltaEnd
			}
			packed := src[:min(size/8*int(width), len(src))]
			acc = addDeltas(out[:n], packed, int(width), acc, least)
			out, src = out[n:], src[len(packed):]
		}
	}
	return src, nil
}

// addDeltas fills out with the sums of acc and differences of width bits, at most 64, and returns
// the last.
func addDeltas[T int32 | int64](out []T, src []byte, width int, acc, least uint64) uint64 {
	i, at := 0, 0 // at is in bits
	switch {
	case width == 0:
		for i := range out {
			acc += least
			out[i] = T(acc)
		}
		return acc
	case width <= 16:
		var some [128]uint32
		for len(out) > 0 {
			n := min(len(out), len(some))
			unpackBits(some[:n], src, width)
			for i, x := range some[:n] {
				acc += least + uint64(x)
				out[i] = T(acc)
			}
			out, src = out[n:], src[min(len(src), len(some)/8*width):]
		}
		return acc
	case width <= 57: // eight bytes hold the value that begins in the first of them
		mask := uint64(1)<<width - 1
		for ; i < len(out) && at>>3+8 <= len(src); i++ {
			acc += least + binary.LittleEndian.Uint64(src[at>>3:])>>(at&7)&mask
			out[i] = T(acc)
			at += width
		}
	}
	mask := ^uint64(0) >> (64 - width)
	for ; i < len(out); i++ {
		rest := src[at>>3:]
		word := tailBits(rest) >> (at & 7)
		if at&7 > 0 && len(rest) > 8 {
			word |= uint64(rest[8]) << (64 - at&7)
		}
		acc += least + word&mask
		out[i] = T(acc)
		at += width
	}
	return acc
}
