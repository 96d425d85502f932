package sketch

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/hengedb/henge/internal/fault"
)

const (
	// bloomSeed and bloomNull are the hash seed, and the hash of NULL.
	bloomSeed = 104729
	bloomNull = 2862933555777941757
	// bloomFalse is the rate of false positives at the expected number of values.
	bloomFalse = 0.05
	// bloomBlock is the number of 64-bit words that hold the bits of one value.
	bloomBlock = 8
	// maxBloomEntries bounds the expected number of values: some 80 MB of bits.
	maxBloomEntries = 100_000_000
	maxBloomHashes  = 64
)

// Bloom is a Bloom filter whose bits of one value lie in one block of 64 bytes. Bytes and hashes
// are those of Hive's BloomKFilter, which Druid uses. See quirk Q008.
type Bloom struct {
	hashes uint8
	words  []uint64
}

// CheckBloom refuses an expected number of values that no filter can have.
func CheckBloom(entries int64) error {
	if entries < 1 || entries > maxBloomEntries {
		return fault.InvalidInput("The number [%d] of entries of a Bloom filter must be from 1 to %d", entries, maxBloomEntries)
	}
	return nil
}

// NewBloom returns an empty filter for an expected number of different values, which CheckBloom
// accepts.
func NewBloom(entries int64) *Bloom {
	n := float64(entries)
	m := math.Floor(-n * math.Log(bloomFalse) / (math.Ln2 * math.Ln2))
	k := max(1, int64(math.Floor(m/n*math.Ln2+0.5)))
	words := int(math.Ceil(m / 64))
	words += bloomBlock - words%bloomBlock
	return &Bloom{hashes: uint8(k), words: make([]uint64, words)}
}

// AddNull, AddText, AddLong, AddDouble and AddFloat add a value. A long and a double of equal value
// are different values.
func (b *Bloom) AddNull()            { b.add(bloomNull) }
func (b *Bloom) AddText(s string)    { b.add(bloomHash(s)) }
func (b *Bloom) AddLong(x int64)     { b.add(bloomLong(uint64(x))) }
func (b *Bloom) AddDouble(x float64) { b.add(bloomLong(doubleBits(x))) }
func (b *Bloom) AddFloat(x float32)  { b.add(bloomInt(floatBits(x))) }

// HasNull, HasText, HasLong, HasDouble and HasFloat report whether a value may have been added.
func (b *Bloom) HasNull() bool            { return b.has(bloomNull) }
func (b *Bloom) HasText(s string) bool    { return b.has(bloomHash(s)) }
func (b *Bloom) HasLong(x int64) bool     { return b.has(bloomLong(uint64(x))) }
func (b *Bloom) HasDouble(x float64) bool { return b.has(bloomLong(doubleBits(x))) }
func (b *Bloom) HasFloat(x float32) bool  { return b.has(bloomInt(floatBits(x))) }

func doubleBits(x float64) uint64 {
	if x != x {
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}

func floatBits(x float32) uint32 {
	if x != x {
		return 0x7fc00000
	}
	return math.Float32bits(x)
}

func (b *Bloom) add(hash uint64) {
	b.each(hash, func(word *uint64, bit uint64) bool {
		*word |= bit
		return true
	})
}

func (b *Bloom) has(hash uint64) bool {
	all := true
	b.each(hash, func(word *uint64, bit uint64) bool {
		all = *word&bit != 0
		return all
	})
	return all
}

// each calls visit with the bits of a hash until it returns false.
func (b *Bloom) each(hash uint64, visit func(word *uint64, bit uint64) bool) {
	h1, h2 := int32(hash), int32(hash>>32)
	block := int(folded(h1+h2)) % (len(b.words) / bloomBlock) * bloomBlock
	for i := int32(1); i <= int32(b.hashes); i++ {
		h := folded(h1 + (i+1)*h2)
		if !visit(&b.words[block+int(h)%bloomBlock], 1<<(h/bloomBlock%64)) {
			return
		}
	}
}

// folded makes a hash not negative.
func folded(h int32) int32 {
	if h < 0 {
		return ^h
	}
	return h
}

func bloomLong(x uint64) uint64 {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], x)
	return bloomHash(string(p[:]))
}

func bloomInt(x uint32) uint64 {
	var p [4]byte
	binary.LittleEndian.PutUint32(p[:], x)
	return bloomHash(string(p[:]))
}

// bloomHash is Hive's Murmur3 of 64 bits, which is half of the one of 128.
func bloomHash(s string) uint64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	hash, rest := uint64(bloomSeed), s
	mix := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	for len(rest) >= 8 {
		hash ^= mix(binary.LittleEndian.Uint64([]byte(rest[:8])))
		hash = bits.RotateLeft64(hash, 27)*5 + 0x52dce729
		rest = rest[8:]
	}
	if len(rest) > 0 {
		var tail [8]byte
		copy(tail[:], rest)
		hash ^= mix(binary.LittleEndian.Uint64(tail[:]))
	}
	hash ^= uint64(len(s))
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	hash *= 0xc4ceb9fe1a85ec53
	return hash ^ hash>>33
}

// Merge adds the values of another filter, which must have the same size.
func (b *Bloom) Merge(other *Bloom) error {
	if len(b.words) != len(other.words) || b.hashes != other.hashes {
		return fault.InvalidInput("Bloom filters of [%d] and [%d] bits can't be merged", 64*len(b.words), 64*len(other.words))
	}
	for i, w := range other.words {
		b.words[i] |= w
	}
	return nil
}

// Bytes returns the memory held.
func (b *Bloom) Bytes() int64 { return 48 + 8*int64(len(b.words)) }

// AppendBinary appends the stored form: the number of hashes, the number of words, the words, all
// big endian.
func (b *Bloom) AppendBinary(dst []byte) []byte {
	dst = append(dst, b.hashes)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b.words)))
	for _, w := range b.words {
		dst = binary.BigEndian.AppendUint64(dst, w)
	}
	return dst
}

// ParseBloom reads a stored filter.
func ParseBloom(s string) (*Bloom, error) {
	r := bytesReader{rest: []byte(s)}
	b := &Bloom{hashes: r.uint8()}
	n := int(r.uint32())
	if r.short || b.hashes == 0 || b.hashes > maxBloomHashes || n == 0 || n%bloomBlock != 0 || n != len(r.rest)/8 || len(r.rest)%8 != 0 {
		return nil, fault.InvalidInput("The bytes of a Bloom filter are damaged")
	}
	b.words = make([]uint64, n)
	for i := range b.words {
		b.words[i] = r.uint64()
	}
	return b, nil
}
