package v9

import (
	"encoding/binary"

	"github.com/hengedb/henge/internal/vector"
)

// The versions and flags of a part of type stringDictionary.
const (
	plainLists      = 1 // plain codes, several a row
	firstWithFlags  = 2 // from here on flags follow
	flagLists       = 1
	flagStreamLists = 2
)

// strings reads a column of dictionary codes, one or several a row. The indexes behind the codes
// are left.
func (c *cursor) strings(order binary.ByteOrder, parts *smoosh) *vector.Vector {
	version, flags := c.version("a column of texts", 0, 1, 2, 3), 0
	if version >= firstWithFlags {
		flags = c.int()
	} else if version == plainLists {
		flags = flagLists
	}
	texts, hasNull := c.dictionary(order, parts)
	if flags&(flagLists|flagStreamLists) == 0 {
		return c.textVector(c.codes(order, parts), texts, hasNull)
	}
	ends, codes := c.lists(order, parts)
	return c.multiVector(ends, codes, texts, hasNull)
}

// textVector makes a column of codes into texts.
func (c *cursor) textVector(codes []uint32, texts []string, hasNull bool) *vector.Vector {
	if c.err != nil {
		return nil
	}
	v := vector.FromCodes(codes, vector.NewDict(texts))
	for i, code := range codes {
		if int(code) >= len(texts) {
			c.fail("row [%d] has code [%d] of [%d]", i, code, len(texts))
			return nil
		}
		if hasNull && code == 0 {
			if v.Valid == nil {
				v.Valid = vector.FullBitmap(len(codes))
			}
			v.Valid.Clear(i)
		}
	}
	return v
}

// multiVector makes lists of codes into lists of texts. A row without a value is null, as is one
// whose only value is null.
func (c *cursor) multiVector(ends, codes []uint32, texts []string, hasNull bool) *vector.Vector {
	child := c.textVector(codes, texts, hasNull)
	if c.err != nil {
		return nil
	}
	v := &vector.Vector{Type: vector.ListOf(vector.String), Len: len(ends), Offsets: make([]uint32, 1, len(ends)+1), Child: child}
	last := uint32(0)
	for i, end := range ends {
		if end < last || int(end) > len(codes) {
			c.fail("row [%d] ends outside of its codes", i)
			return nil
		}
		if end == last || end == last+1 && child.IsNull(int(last)) {
			if v.Valid == nil {
				v.Valid = vector.FullBitmap(len(ends))
			}
			v.Valid.Clear(i)
		}
		v.Offsets, last = append(v.Offsets, end), end
	}
	return v
}
