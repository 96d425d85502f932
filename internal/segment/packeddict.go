package segment

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

// A packed dictionary is cut into blocks that are decoded on their own. The directory of blocks
// says where each lies; the first value of a block lies before it as it is, so that a value is
// looked up with one block decoded.

// dictBlock is a directory entry of a packed dictionary.
type dictBlock struct {
	First  uint32 // code of its first value
	Text   uint32 // bytes of its values
	Head   uint32 // bytes of its first value
	Packed uint32 // bytes of the others, prefixes left out
	Stored uint32 // bytes of that in the file
	Codec  uint32
	Offset uint64 // in the dictionary data: the first value, then what is stored
}

// packedDict is a packed dictionary whose directory is checked.
type packedDict struct {
	directory *area
	blocks    []dictBlock
	data      *area
	n         int    // values
	text      uint64 // bytes of all
}

func openPackedDict(directory, data *area, n int) (*packedDict, error) {
	raw, err := directory.all()
	if err != nil {
		return nil, err
	}
	d := &packedDict{directory: directory, blocks: view[dictBlock](raw), data: data, n: n}
	bad := func(i int, reason string) (*packedDict, error) {
		return nil, directory.corrupt(i*dictBlockSize, reason)
	}
	for i := range d.blocks {
		b := &d.blocks[i]
		if i == 0 && b.First != 0 || i > 0 && b.First <= d.blocks[i-1].First || int(b.First) >= n {
			return bad(i, "the values of its dictionary blocks do not ascend")
		}
		if b.Offset > uint64(len(data.b)) || uint64(b.Head)+uint64(b.Stored) > uint64(len(data.b))-b.Offset {
			return bad(i, "a dictionary block is outside of its data")
		}
		if b.Codec > codecZstd || b.Codec == codecNone && b.Stored != b.Packed {
			return bad(i, "a dictionary block is stored in an unknown way")
		}
		// A hostile block must not make a reader allocate without bound: several values are no more than
		// a block's worth.
		if b.Text < b.Head || b.Text > max(b.Head, dictBlockBytes) || b.Packed > b.Text+maxDictHeaderBytes || d.size(i) > dictBlockEntries {
			return bad(i, "a dictionary block has an impossible length")
		}
		d.text += uint64(b.Text)
	}
	if d.text > maxDictBytes {
		return bad(0, "its dictionary is larger than any")
	}
	return d, nil
}

// size returns how many values block i has.
func (d *packedDict) size(i int) int {
	if i+1 < len(d.blocks) {
		return int(d.blocks[i+1].First - d.blocks[i].First)
	}
	return d.n - int(d.blocks[i].First)
}

// head returns the first value of block i.
func (d *packedDict) head(i int) (string, error) {
	b := &d.blocks[i]
	lo, hi := int(b.Offset), int(b.Offset)+int(b.Head)
	return textOf(d.data.b[lo:hi]), d.data.touch(lo, hi)
}

// shortText is the length up to which parts of values are copied as if they had it.
const shortText = 16

// decode appends the values of block i to dict.
func (d *packedDict) decode(i int, dict *vector.Dict, scratch []byte) ([]byte, error) {
	b := &d.blocks[i]
	lo := int(b.Offset)
	hi := lo + int(b.Head) + int(b.Stored)
	if err := d.data.touch(lo, hi); err != nil {
		return scratch, err
	}
	bad := func() ([]byte, error) {
		return scratch, d.data.corrupt(lo, "a dictionary block does not decode to ascending values")
	}
	packed := d.data.b[lo+int(b.Head) : hi]
	if b.Codec == codecZstd {
		decoder, err := decoders()
		if err != nil {
			return scratch, err
		}
		scratch = grown(scratch, int(b.Packed))
		packed, err = decoder.DecodeAll(packed, scratch[:0])
		if err != nil || len(packed) != int(b.Packed) {
			return scratch, d.data.corrupt(lo, "a dictionary block does not decompress to its length")
		}
	}
	// In variables of their own, they are not written to memory with each value.
	blob, offsets := dict.Blob, dict.Offsets
	start := len(blob)
	blob = append(blob, d.data.b[lo:lo+int(b.Head)]...)
	offsets = append(offsets, uint32(len(blob)))
	// The lengths of all shared prefixes come first, then those of what follows them, then what
	// follows them.
	n := d.size(i) - 1
	var lengths [2 * dictBlockEntries]uint32
	for k := range 2 * n {
		if len(packed) > 0 && packed[0] < 0x80 { // as nearly all are
			lengths[k], packed = uint32(packed[0]), packed[1:]
			continue
		}
		x, size := binary.Uvarint(packed)
		if size <= 0 || x > math.MaxUint32 {
			return bad()
		}
		lengths[k], packed = uint32(x), packed[size:]
	}
	before := start
	for k := range n {
		shared, rest := int(lengths[k]), int(lengths[n+k])
		at := len(blob)
		if shared > at-before || rest == 0 || rest > len(packed) || at+shared+rest-start > int(b.Text) ||
			shared < at-before && packed[0] <= blob[before+shared] {
			return bad()
		}
		if room := blob[:cap(blob)]; shared <= shortText && rest <= shortText && at+2*shortText <= len(room) && len(packed) >= shortText {
			// Copies of a length that the compiler knows; what is too much of them is written over.
			*(*[shortText]byte)(room[at:]) = *(*[shortText]byte)(room[before:])
			*(*[shortText]byte)(room[at+shared:]) = *(*[shortText]byte)(packed)
			blob = room[:at+shared+rest]
		} else {
			blob = append(blob, blob[before:before+shared]...)
			blob = append(blob, packed[:rest]...)
		}
		offsets = append(offsets, uint32(len(blob)))
		before, packed = at, packed[rest:]
	}
	if len(packed) > 0 || len(blob)-start != int(b.Text) {
		return bad()
	}
	dict.Blob, dict.Offsets = blob, offsets
	return scratch, nil
}

// block returns the values of block i alone.
func (d *packedDict) block(i int) (*vector.Dict, error) {
	out := &vector.Dict{Offsets: make([]uint32, 1, d.size(i)+1), Blob: make([]byte, 0, d.blocks[i].Text), Sorted: true}
	_, err := d.decode(i, out, nil)
	return out, err
}

// memory is what all takes, in bytes.
func (d *packedDict) memory() int64 { return int64(d.text) + 4*int64(d.n+1) }

// all returns the whole dictionary.
func (d *packedDict) all() (*vector.Dict, error) {
	out := &vector.Dict{Offsets: make([]uint32, 1, d.n+1), Blob: make([]byte, 0, d.text), Sorted: true}
	var scratch []byte
	for i := range d.blocks {
		first := len(out.Offsets) - 1
		var err error
		if scratch, err = d.decode(i, out, scratch); err != nil {
			return nil, err
		}
		if i > 0 && out.Value(uint32(first-1)) >= out.Value(uint32(first)) {
			return nil, d.directory.corrupt(i*dictBlockSize, "its dictionary is not sorted")
		}
	}
	return out, nil
}

// lookup returns what vector.Dict.Lookup does.
func (d *packedDict) lookup(s string) (code uint32, found bool, err error) {
	i := sort.Search(len(d.blocks), func(i int) bool {
		if err != nil {
			return true
		}
		var head string
		head, err = d.head(i)
		return head > s
	}) - 1
	if err != nil || i < 0 {
		return 0, false, err
	}
	block, err := d.block(i)
	if err != nil {
		return 0, false, err
	}
	code, found = block.Lookup(s)
	return code + d.blocks[i].First, found, nil
}

// values sets out to the values of codes, which it copies. Each block is decoded once.
func (d *packedDict) values(codes []uint32, valid vector.Bitmap, out []string) error {
	order := make([]uint64, 0, len(codes)) // code<<32 | row
	for i, code := range codes {
		if valid.Get(i) {
			order = append(order, uint64(code)<<32|uint64(i))
		} else {
			out[i] = ""
		}
	}
	slices.Sort(order)
	at := -1
	var block *vector.Dict
	for _, o := range order {
		code, i := uint32(o>>32), uint32(o)
		if at < 0 || int(code-d.blocks[at].First) >= d.size(at) {
			at = sort.Search(len(d.blocks), func(i int) bool { return d.blocks[i].First > code }) - 1
			var err error
			if block, err = d.block(at); err != nil {
				return err
			}
		}
		out[i] = strings.Clone(block.Value(code - d.blocks[at].First))
	}
	return nil
}
