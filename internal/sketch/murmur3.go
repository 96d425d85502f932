package sketch

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	murmurC1 = 0x87c37b91114253d5
	murmurC2 = 0x4cf5ad432745937f
)

// sketchSeed is the seed of all DataSketches; hyperUnique columns have seed 0.
const sketchSeed = 9001

// seedHash names sketchSeed in stored sketches: the low 16 bits of its own hash with seed 0.
const seedHash = 0x93cc

// murmur3 is MurmurHash3_x64_128 with seed 0 (Austin Appleby, public domain).
func murmur3(s []byte) (h1, h2 uint64) { return murmur3Seeded(s, 0) }

// murmur3Seeded is MurmurHash3_x64_128.
func murmur3Seeded(s []byte, seed uint64) (h1, h2 uint64) {
	h1, h2 = seed, seed
	n := len(s)
	for len(s) >= 16 {
		h1, h2 = murmurBlock(h1, h2, binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:]))
		s = s[16:]
	}
	if len(s) > 0 {
		var tail [16]byte
		copy(tail[:], s)
		h1, h2 = murmurTail(h1, h2, binary.LittleEndian.Uint64(tail[:8]), binary.LittleEndian.Uint64(tail[8:]), len(s))
	}
	return murmurEnd(h1, h2, n)
}

// murmur3ASCII is murmur3 of text as UTF-16, little endian, which it need not write down; false:
// the text has other characters than those of ASCII.
func murmur3ASCII(text string) (h1, h2 uint64, ok bool) {
	s := []byte(text)
	for ; len(s) >= 8; s = s[8:] {
		x := binary.LittleEndian.Uint64(s)
		if x&notASCII != 0 {
			return 0, 0, false
		}
		h1, h2 = murmurBlock(h1, h2, widened(uint32(x)), widened(uint32(x>>32)))
	}
	if len(s) > 0 {
		var x uint64
		for i, c := range s {
			x |= uint64(c) << (8 * i)
		}
		if x&notASCII != 0 {
			return 0, 0, false
		}
		h1, h2 = murmurTail(h1, h2, widened(uint32(x)), widened(uint32(x>>32)), 2*len(s))
	}
	h1, h2 = murmurEnd(h1, h2, 2*len(text))
	return h1, h2, true
}

// notASCII are the bits that no character of ASCII has.
const notASCII = 0x8080808080808080

// widened returns four bytes with a zero behind each.
func widened(four uint32) uint64 {
	x := uint64(four)
	x = (x | x<<16) & 0x0000ffff0000ffff
	return (x | x<<8) & 0x00ff00ff00ff00ff
}

// murmur3Long is murmur3 of the eight little-endian bytes of x.
func murmur3Long(x uint64) (h1, h2 uint64) {
	h1, h2 = murmurTail(0, 0, x, 0, 8)
	return murmurEnd(h1, h2, 8)
}

// murmur3Int is murmur3 of the four little-endian bytes of x.
func murmur3Int(x uint32) (h1, h2 uint64) {
	h1, h2 = murmurTail(0, 0, uint64(x), 0, 4)
	return murmurEnd(h1, h2, 4)
}

// canonicalBits are the bits of a double as DataSketches hash it: both zeros are one value, and so
// is every NaN.
func canonicalBits(x float64) uint64 {
	switch {
	case x == 0:
		return 0
	case x != x:
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}

func murmurBlock(h1, h2, k1, k2 uint64) (uint64, uint64) {
	h1 ^= bits.RotateLeft64(k1*murmurC1, 31) * murmurC2
	h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
	h2 ^= bits.RotateLeft64(k2*murmurC2, 33) * murmurC1
	h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	return h1, h2
}

func murmurTail(h1, h2, k1, k2 uint64, n int) (uint64, uint64) {
	if n > 8 {
		h2 ^= bits.RotateLeft64(k2*murmurC2, 33) * murmurC1
	}
	return h1 ^ bits.RotateLeft64(k1*murmurC1, 31)*murmurC2, h2
}

func murmurEnd(h1, h2 uint64, n int) (uint64, uint64) {
	h1 ^= uint64(n)
	h2 ^= uint64(n)
	h1 += h2
	h2 += h1
	h1, h2 = murmurMix(h1), murmurMix(h2)
	h1 += h2
	return h1, h2 + h1
}

func murmurMix(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
