package segment

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// dictionary writes the entries that dict emits, in order, and the statistics that they are. A
// small dictionary is written as it is; a larger one is packed.
func (e *columnEncoder) dictionary(c *columnMeta, dict func(func(string) error) (int, error)) (int, error) {
	c.enc = encDict
	offsets := []uint32{0}
	var held []byte // the entries, as long as they are few
	var packed *dictPacker
	least, greatest, first := "", "", true
	n, err := dict(func(s string) error {
		if first {
			least, first = s, false
		}
		greatest = s
		if packed != nil {
			return packed.add(s)
		}
		held = append(held, s...)
		if offsets = append(offsets, uint32(len(held))); len(held) <= plainDictBytes {
			return nil
		}
		var err error
		if packed, err = e.newDictPacker(c); err != nil {
			return err
		}
		for i := range offsets[1:] {
			if err := packed.add(textOf(held[offsets[i]:offsets[i+1]])); err != nil {
				return err
			}
		}
		held, offsets = nil, nil
		return nil
	})
	if err != nil || n == 0 {
		return n, err
	}
	c.Distinct, c.DistinctExact, c.dictSize = n, true, n
	if c.Type.Kind == vector.KindString {
		c.Min, c.MinExact, c.Max, c.MaxExact = boundOf(least, greatest)
	}
	if packed != nil {
		return n, packed.end(e, c)
	}
	if len(held) > 0 {
		if err := e.whole(c, partDictBytes, held); err != nil {
			return n, err
		}
	}
	return n, e.whole(c, partDictOffsets, bytesOf(offsets))
}

// dictPacker writes the blocks of a packed dictionary.
type dictPacker struct {
	data      *partWriter
	encoder   *zstd.Encoder
	directory []byte
	first     int // code of the block's first value
	n         int // values of the block
	text      int // bytes of them
	head      []byte
	before    []byte
	shared    []byte // varints
	rest      []byte // varints
	suffixes  []byte
	raw, out  []byte
}

func (e *columnEncoder) newDictPacker(c *columnMeta) (*dictPacker, error) {
	data, err := e.part(c, partDictData)
	if err != nil {
		return nil, err
	}
	encoder, err := dictEncoders()
	if err != nil {
		return nil, err
	}
	return &dictPacker{data: data, encoder: encoder}, nil
}

func (p *dictPacker) add(s string) error {
	if p.n > 0 && (p.text+len(s) > dictBlockBytes || p.n == dictBlockEntries) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	if p.n == 0 {
		p.head = append(p.head[:0], s...)
	} else {
		k := 0
		for k < len(p.before) && k < len(s) && p.before[k] == s[k] {
			k++
		}
		p.shared = binary.AppendUvarint(p.shared, uint64(k))
		p.rest = binary.AppendUvarint(p.rest, uint64(len(s)-k))
		p.suffixes = append(p.suffixes, s[k:]...)
	}
	p.before = append(p.before[:0], s...)
	p.n++
	p.text += len(s)
	return nil
}

func (p *dictPacker) flush() error {
	p.raw = append(append(append(p.raw[:0], p.shared...), p.rest...), p.suffixes...)
	stored, codec := p.raw, uint32(codecNone)
	if len(p.raw) > 0 {
		if p.out = p.encoder.EncodeAll(p.raw, p.out[:0]); len(p.out) < len(p.raw)-len(p.raw)/8 {
			stored, codec = p.out, codecZstd
		}
	}
	b := dictBlock{First: uint32(p.first), Text: uint32(p.text), Head: uint32(len(p.head)), Packed: uint32(len(p.raw)),
		Stored: uint32(len(stored)), Codec: codec, Offset: uint64(p.data.part.length)}
	p.directory = append(p.directory, bytesOf([]dictBlock{b})...)
	p.first += p.n
	p.n, p.text = 0, 0
	p.shared, p.rest, p.suffixes = p.shared[:0], p.rest[:0], p.suffixes[:0]
	if err := p.data.write(p.head); err != nil {
		return err
	}
	return p.data.write(stored)
}

func (p *dictPacker) end(e *columnEncoder, c *columnMeta) error {
	if err := p.flush(); err != nil {
		return err
	}
	p.data.end()
	return e.whole(c, partDictBlocks, p.directory)
}

// dictEncoders returns the process's encoder of dictionary blocks. Their suffixes repeat little,
// but use few different bytes: it is coding these by frequency that makes them small.
var dictEncoders = sync.OnceValues(func() (*zstd.Encoder, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(256<<10), zstd.WithSingleSegment(true),
		zstd.WithEncoderCRC(false), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		return nil, fault.Defensive("A zstd encoder can't be made").WithCause(err)
	}
	return e, nil
})
