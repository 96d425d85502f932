package v9

import (
	"encoding/binary"

	"github.com/hengedb/henge/internal/vector"
)

// pairTypes are the types of the first and last values of rollups: a time, and the value that a row
// had then.
var pairTypes = map[string]vector.Type{
	"serializablePairLongLong": vector.ComplexOf("serializablePairLongLong"), "serializablePairLongDouble": vector.ComplexOf("serializablePairLongDouble"),
	"serializablePairLongFloat": vector.ComplexOf("serializablePairLongFloat"), "serializablePairLongString": vector.ComplexOf("serializablePairLongString"),
}

// pairCells is the version of pairs in cells, which have times as distances from the least one.
// Lists of pairs begin with the version of a list.
const pairCells = 3

// shortTimes marks distances of four bytes, in the second byte of the column; otherwise they have
// eight.
const shortTimes = 0x80

// pairs reads a column of times and values. As they are here: the time, big endian, then the value
// or, where it is null, nothing; a text has a byte in front (agg.TimedTextType).
func (c *cursor) pairs(t vector.Type, parts *smoosh, rows int) (*vector.Vector, error) {
	if len(c.b) == 0 || c.b[0] != pairCells {
		return c.pairList(t, parts, rows)
	}
	head := c.take(12)
	if c.err != nil {
		return nil, c.err
	}
	short, least := head[1]&shortTimes != 0, binary.LittleEndian.Uint64(head[4:])
	ends, err := c.cellBytes()
	if err != nil {
		return nil, err
	}
	cells, err := c.cellBytes()
	if err != nil {
		return nil, err
	}
	if len(ends) != 8*(rows+1) {
		return nil, corrupt(c.part, "it has [%d] ends of values for [%d] rows", len(ends)/8, rows)
	}
	v := &vector.Vector{Type: t, Len: rows, Strings: make([]string, rows)}
	for i := range v.Strings {
		from, to := binary.LittleEndian.Uint64(ends[8*i:]), binary.LittleEndian.Uint64(ends[8*i+8:])
		if from > to || to > uint64(len(cells)) {
			return nil, corrupt(c.part, "value [%d] is outside of its bytes", i)
		}
		if from == to {
			continue
		}
		cell := cursor{part: c.part, b: cells[from:to]}
		v.Strings[i] = cell.pair(t, short, least)
		if cell.err != nil {
			return nil, cell.err
		}
	}
	return withoutEmpty(v), nil
}

// pair reads one cell.
func (c *cursor) pair(t vector.Type, short bool, least uint64) string {
	width := 8
	if short {
		width = 4
	}
	time := least + c.little(width)
	out := binary.BigEndian.AppendUint64(nil, time)
	switch t {
	case pairTypes["serializablePairLongString"]:
		switch length := int(int32(c.little(4))); {
		case length > 0:
			out = append(append(out, 1), c.take(length)...)
		case length < 0: // a text without a character, which is not null
			out = append(out, 1)
		}
	case pairTypes["serializablePairLongFloat"]:
		if c.byte() == 0 {
			out = binary.BigEndian.AppendUint32(out, uint32(c.little(4)))
		}
	default:
		if c.byte() == 0 {
			out = binary.BigEndian.AppendUint64(out, c.little(8))
		}
	}
	return string(out)
}

// little reads a number of so many bytes, the lowest first.
func (c *cursor) little(width int) (n uint64) {
	for i, b := range c.take(width) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

// pairList reads a list of times and texts: eight bytes, a length and so many bytes. Nothing tells
// null from a text without a character: it is null.
func (c *cursor) pairList(t vector.Type, parts *smoosh, rows int) (*vector.Vector, error) {
	if t != pairTypes["serializablePairLongString"] {
		c.version("a column of pairs", pairCells)
		return nil, c.err
	}
	list := c.indexed(parts)
	if c.err != nil {
		return nil, c.err
	}
	values, _, err := list.texts()
	if err != nil {
		return nil, err
	}
	if len(values) != rows {
		return nil, corrupt(c.part, "it has [%d] values for [%d] rows", len(values), rows)
	}
	for i, value := range values {
		if value == "" {
			continue
		}
		x := cursor{part: c.part, b: []byte(value)}
		time := x.take(8)
		text := x.take(x.count())
		if x.err != nil {
			return nil, x.err
		}
		out := string(time)
		if len(text) > 0 {
			out += "\x01" + string(text)
		}
		values[i] = out
	}
	return withoutEmpty(&vector.Vector{Type: t, Len: rows, Strings: values}), nil
}

// cellBytes reads bytes in compressed blocks: the size of all, the size of the places of the
// blocks, these, the size of the blocks, and the blocks. Numbers are little endian.
func (c *cursor) cellBytes() ([]byte, error) {
	all := cursor{part: c.part, b: c.take(int(int32(c.little(4)))), err: c.err}
	places := all.take(int(int32(all.little(4))))
	blocks := all.take(int(int32(all.little(4))))
	if all.err != nil {
		return nil, all.err
	}
	if len(places)%4 != 0 || len(places) == 0 {
		return nil, corrupt(c.part, "the places of its blocks take [%d] bytes", len(places))
	}
	inflater, err := newInflater(c.part, lz4Block)
	if err != nil {
		return nil, err
	}
	defer inflater.close()
	var out []byte
	last := int(binary.LittleEndian.Uint32(places))
	for i := 4; i < len(places); i += 4 {
		end := int(binary.LittleEndian.Uint32(places[i:]))
		if end < last || end > len(blocks) {
			return nil, corrupt(c.part, "block [%d] is outside of it", i/4-1)
		}
		block, err := inflater.block(blocks[last:end])
		if err != nil {
			return nil, corrupt(c.part, "block [%d] can't be decompressed", i/4-1)
		}
		out, last = append(out, block...), end
	}
	return out, nil
}
