package timeline

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// GroupHashFunction is the name that Hashed shard specs have for GroupHash.
const GroupHashFunction = "murmur3_32_abs"

// AppendGroupText appends a string in the form of group keys: a JSON string with a minimum of
// escapes, whose hexadecimal digits are capitals, as Druid's JSON writer has them. See quirk Q014.
func AppendGroupText(dst []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn.fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(dst, '"')
}

// GroupHash returns the hash by which Hashed shard specs partition rows: the absolute value of
// MurmurHash3_x86_32 (A. Appleby, seed 0) of a group key. A row belongs to the bucket GroupHash %
// Buckets. The group key is JSON: the list of the values of a row, as strings, for each dimension;
// without dimensions the truncated time and an object of all dimensions.
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
