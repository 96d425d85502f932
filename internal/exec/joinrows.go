package exec

import "github.com/hengedb/henge/internal/vector"

// joinRows collects the right rows of a join. What text of a column is of one dictionary, as that of one segment is, stays codes.
type joinRows struct {
	cols  []joinColumn
	n     int
	bytes int64
}

// joinColumn is a column of joinRows.
type joinColumn struct {
	codes   []uint32
	dict    *vector.Dict // of codes; nil: there are none
	invalid []uint32     // rows of codes that are null
	plain   *vector.Builder
}

func newJoinRows(types []vector.Type) *joinRows {
	r := &joinRows{cols: make([]joinColumn, len(types))}
	for i, t := range types {
		r.cols[i].plain = vector.NewBuilder(t, 0)
	}
	return r
}

// append adds the rows of b that count.
func (r *joinRows) append(b *vector.Batch) {
	for i, v := range b.Cols {
		r.bytes += r.cols[i].append(v, b)
	}
	r.n += b.Rows()
}

// append adds the rows of v that count in b, and returns about how many bytes they take.
func (c *joinColumn) append(v *vector.Vector, b *vector.Batch) int64 {
	before := int64(0)
	switch coded := v.Type.Kind == vector.KindString && v.Dict != nil && !v.Const; {
	case coded && (c.dict == v.Dict || c.dict == nil && c.plain.Len() == 0):
		c.dict = v.Dict
		c.appendCodes(v, b.Sel)
		return 4 * int64(b.Rows())
	case c.dict != nil:
		before = c.spell()
	}
	c.plain.AppendRows(v, b.Sel)
	return before + (&vector.Batch{N: b.N, Cols: []*vector.Vector{v}, Sel: b.Sel}).Bytes()
}

// appendCodes adds codes of the given rows, nil: all.
func (c *joinColumn) appendCodes(v *vector.Vector, rows []uint32) {
	before := len(c.codes)
	if rows == nil {
		c.codes = append(c.codes, v.Codes[:v.Len]...)
	} else {
		for _, r := range rows {
			c.codes = append(c.codes, v.Codes[r])
		}
	}
	if v.Valid == nil {
		return
	}
	for i := range len(c.codes) - before {
		row := i
		if rows != nil {
			row = int(rows[i])
		}
		if !v.Valid.Get(row) {
			c.invalid = append(c.invalid, uint32(before+i))
		}
	}
}

// spell makes texts of the codes, and returns how many bytes they take beyond those of the codes.
func (c *joinColumn) spell() int64 {
	v := c.coded()
	c.codes, c.dict, c.invalid = nil, nil, nil
	c.plain.AppendRows(v, nil)
	return (&vector.Batch{N: v.Len, Cols: []*vector.Vector{v}}).Bytes() - 4*int64(v.Len)
}

// coded returns the rows as codes of their dictionary.
func (c *joinColumn) coded() *vector.Vector {
	v := vector.FromCodes(c.codes, c.dict)
	if len(c.invalid) > 0 {
		v.Valid = vector.FullBitmap(v.Len)
		for _, i := range c.invalid {
			v.Valid.Clear(int(i))
		}
	}
	return v
}

// build returns the rows and leaves r empty.
func (r *joinRows) build() *vector.Batch {
	out := &vector.Batch{N: r.n, Cols: make([]*vector.Vector, len(r.cols))}
	for i := range r.cols {
		c := &r.cols[i]
		if c.dict != nil && c.dict.Len() > usefulDict*len(c.codes) {
			c.spell()
		}
		if c.dict == nil {
			out.Cols[i] = encodeText(c.plain.Build())
			continue
		}
		out.Cols[i] = shrunk(c.coded())
		c.codes, c.dict, c.invalid = nil, nil, nil
	}
	r.n, r.bytes = 0, 0
	return out
}

// usefulDict is how many entries there may be in a dictionary for each row that has one, for looking at all of them.
const usefulDict = 16

// shrunk returns v, which has codes, over a dictionary of the entries that it uses, unless these are most of them: what follows is done once for
// each entry.
func shrunk(v *vector.Vector) *vector.Vector {
	places := make([]uint32, v.Dict.Len()) // + 1; 0: not used
	var entries []string
	for i, code := range v.Codes {
		if places[code] == 0 && v.Valid.Get(i) {
			entries = append(entries, v.Dict.Value(code))
			places[code] = uint32(len(entries))
		}
	}
	if len(entries) == 0 || 2*len(entries) > v.Dict.Len() {
		return v
	}
	codes := make([]uint32, len(v.Codes))
	for i, code := range v.Codes {
		codes[i] = max(places[code], 1) - 1 // those of nulls may be any
	}
	out := vector.FromCodes(codes, vector.NewDict(entries))
	out.Valid = v.Valid
	return out
}

// encodeText turns a string column with many repetitions into codes, so that what is done with the joined rows is done once per value.
func encodeText(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindString || v.Const || v.Dict != nil || v.Len == 0 {
		return v
	}
	texts := &interner{}
	codes := make([]uint32, v.Len)
	for i, s := range v.Strings {
		if !v.Valid.Get(i) {
			continue
		}
		codes[i] = texts.number(s)
		if texts.len() > 16 && texts.len()*2 > v.Len {
			return v
		}
	}
	if texts.len() == 0 {
		return v
	}
	out := vector.FromCodes(codes, texts.dict())
	out.Valid = v.Valid
	return out
}
