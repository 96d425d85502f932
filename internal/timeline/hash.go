package timeline

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// GroupHashFunction is the name that Hashed shard specs have for GroupHash.
const GroupHashFunction = "murmur3_32_abs"

// GroupHash returns the hash by which Hashed shard specs divide rows: the absolute value of MurmurHash3_x86_32 (A. Appleby, seed 0) of a group key.
// A row belongs to the bucket GroupHash % Buckets. The group key is JSON: of each dimension the list of a row's values, as texts; without
// dimensions the truncated time and an object of all of them.
func GroupHash(key []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	mix := func(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }
	h, n := uint32(0), uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		h = bits.RotateLeft32(h^mix(binary.LittleEndian.Uint32(key)), 13)*5 + 0xe6546b64
	}
	tail := uint32(0)
	for _, b := range slices.Backward(key) {
		tail = tail<<8 | uint32(b)
	}
	h ^= mix(tail) ^ n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= h >> 16
	if int32(h) < 0 {
		return -h
	}
	return h
}
