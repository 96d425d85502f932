package ingest

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/hengedb/henge/internal/vector"
)

// flatColumn reads a column without nesting, page after page, into vectors. What it gives away it never touches again.
type flatColumn struct {
	pages    parquet.Pages
	s        *sink
	field    int
	typ      vector.Type
	optional bool
	// append appends values of the page to the vector being made.
	append pageReader

	page   parquet.Page
	levels []byte // of the page's rows, 1 for a value; nil: all have one
	data   encoding.Values
	row    int // next of the page
	value  int // next of the values, of which nulls have none

	out   *vector.Vector
	nulls int
	dict  *vector.Dict // of the column chunk, made when a page uses it
	of    parquet.Dictionary
	text  pageText
}

// pageReader appends n values of the page of c, which begin at value from, to c.out.
type pageReader func(c *flatColumn, from, n int) error

// pageText is the text of a plain page, copied once.
type pageText struct {
	of      parquet.Page
	blob    string
	offsets []uint32
}

func (c *flatColumn) read(n int) (*vector.Vector, error) {
	c.out, c.nulls = &vector.Vector{Type: c.typ, Len: n}, 0
	for at := 0; at < n; {
		if c.page == nil {
			if err := c.nextPage(); err != nil {
				return nil, err
			}
		}
		rows := min(n-at, int(c.page.NumRows())-c.row)
		if err := c.rows(at, n, rows); err != nil {
			return nil, err
		}
		at += rows
		if c.row == int(c.page.NumRows()) {
			parquet.Release(c.page)
			c.page, c.text = nil, pageText{}
		}
	}
	out := c.out
	c.out = nil
	return out, nil
}

func (c *flatColumn) nextPage() error {
	page, err := c.pages.ReadPage()
	if err != nil {
		return err
	}
	c.page, c.row, c.value, c.levels = page, 0, 0, nil
	if c.optional {
		c.levels = page.DefinitionLevels()
	}
	c.data = page.Data()
	if c.optional && len(c.levels) != int(page.NumRows()) {
		return errLevels
	}
	return nil
}

// rows reads the next rows of the page, which are those of the vector from row at on; it has n.
func (c *flatColumn) rows(at, n, rows int) error {
	if c.levels == nil {
		err := c.append(c, c.value, rows)
		c.row, c.value = c.row+rows, c.value+rows
		return err
	}
	levels := c.levels[c.row : c.row+rows]
	c.row += rows
	for len(levels) > 0 {
		// Runs of values and of nulls.
		run := bytes.IndexByte(levels, 0)
		if run < 0 {
			run = len(levels)
		}
		if run > 0 {
			if err := c.append(c, c.value, run); err != nil {
				return err
			}
			c.value += run
			at += run
			levels = levels[run:]
		}
		for run = 0; run < len(levels) && levels[run] == 0; run++ {
			if c.out.Valid == nil {
				c.out.Valid = vector.FullBitmap(n)
			}
			c.out.Valid.Clear(at + run)
		}
		c.null(run)
		at += run
		levels = levels[run:]
	}
	return nil
}

// null appends room for rows without a value.
func (c *flatColumn) null(n int) {
	switch v := c.out; {
	case v.Type.Kind == vector.KindLong:
		v.Longs = append(v.Longs, make([]int64, n)...)
	case v.Type.Kind == vector.KindDouble:
		v.Doubles = append(v.Doubles, make([]float64, n)...)
	case v.Type.Kind == vector.KindFloat:
		v.Floats = append(v.Floats, make([]float32, n)...)
	case v.Dict != nil:
		v.Codes = append(v.Codes, make([]uint32, n)...)
	default:
		v.Strings = append(v.Strings, make([]string, n)...)
	}
}

func (c *flatColumn) close() error {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	return c.pages.Close()
}

// flatReader returns what reads the values of c as those of a type, or nil when only the general way does.
func flatReader(c *parquet.Column, typ vector.Type, binaryAsString bool) pageReader {
	t := c.Type()
	if _, isDecimal := decimalScale(t); isDecimal {
		return nil
	}
	scale, whole := scaleOf(t)
	switch kind, to := t.Kind(), typ.Kind; {
	case kind == parquet.Int64 && whole && to == vector.KindLong:
		return wholes((*encoding.Values).Int64, func(v *vector.Vector) *[]int64 { return &v.Longs }, scale)
	case kind == parquet.Int64 && whole && to == vector.KindDouble:
		return wholes((*encoding.Values).Int64, func(v *vector.Vector) *[]float64 { return &v.Doubles }, scale)
	case kind == parquet.Int32 && whole && to == vector.KindLong:
		return wholes((*encoding.Values).Int32, func(v *vector.Vector) *[]int64 { return &v.Longs }, scale)
	case kind == parquet.Int32 && whole && to == vector.KindDouble:
		return wholes((*encoding.Values).Int32, func(v *vector.Vector) *[]float64 { return &v.Doubles }, scale)
	case kind == parquet.Double && to == vector.KindDouble:
		return numbers((*encoding.Values).Double, func(v *vector.Vector) *[]float64 { return &v.Doubles })
	case kind == parquet.Float && to == vector.KindDouble:
		return numbers((*encoding.Values).Float, func(v *vector.Vector) *[]float64 { return &v.Doubles })
	case kind == parquet.Float && to == vector.KindFloat:
		return numbers((*encoding.Values).Float, func(v *vector.Vector) *[]float32 { return &v.Floats })
	case kind == parquet.ByteArray && to == vector.KindString && isText(t, binaryAsString):
		return pageStrings
	}
	return nil
}

// pageData returns the values of the page, or those of its dictionary and the indexes into them.
func (c *flatColumn) pageData() (values encoding.Values, indexes []int32) {
	if d := c.page.Dictionary(); d != nil {
		return d.Page().Data(), c.data.Int32()
	}
	return c.data, nil
}

// numbers reads numbers as numbers.
func numbers[From, To int32 | int64 | float32 | float64](from func(*encoding.Values) []From, to func(*vector.Vector) *[]To) pageReader {
	return func(c *flatColumn, first, n int) error {
		data, indexes := c.pageData()
		values, out := from(&data), to(c.out)
		if cap(*out) < c.out.Len {
			*out = append(make([]To, 0, c.out.Len), *out...)
		}
		dst := *out
		if indexes != nil {
			if first+n > len(indexes) {
				return errLevels
			}
			for _, i := range indexes[first : first+n] {
				if uint(i) >= uint(len(values)) {
					return errLevels
				}
				dst = append(dst, To(values[i]))
			}
		} else {
			if first+n > len(values) {
				return errLevels
			}
			for _, x := range values[first : first+n] {
				dst = append(dst, To(x))
			}
		}
		*out = dst
		return nil
	}
}

// wholes reads whole numbers, some of which are times in other units.
func wholes[From int32 | int64, To int64 | float64](from func(*encoding.Values) []From, to func(*vector.Vector) *[]To, scale wholeScale) pageReader {
	plain := numbers(from, to)
	if scale == (wholeScale{1, 1}) {
		return plain
	}
	return func(c *flatColumn, first, n int) error {
		before := len(*to(c.out))
		if err := plain(c, first, n); err != nil {
			return err
		}
		out := (*to(c.out))[before:]
		for i, x := range out {
			out[i] = To(scale.apply(int64(x)))
		}
		return nil
	}
}

// pageStrings reads text: as codes while all pages of the vector share a dictionary, else as strings.
func pageStrings(c *flatColumn, first, n int) error {
	v := c.out
	if d := c.page.Dictionary(); d != nil {
		if err := c.useDictionary(d); err != nil {
			return err
		}
		indexes := c.data.Int32()
		if first+n > len(indexes) {
			return errLevels
		}
		if v.Dict == nil && len(v.Strings) == 0 {
			v.Dict, v.Codes = c.dict, make([]uint32, 0, v.Len)
		}
		size := uint32(c.dict.Len())
		for _, i := range indexes[first : first+n] {
			if uint32(i) >= size {
				return errLevels
			}
			if v.Dict != nil {
				v.Codes = append(v.Codes, uint32(i))
			} else {
				v.Strings = append(v.Strings, c.dict.Value(uint32(i)))
			}
		}
		return nil
	}
	if v.Dict != nil { // a chunk whose dictionary became too large goes on without
		v.Strings = make([]string, 0, v.Len)
		for i, code := range v.Codes {
			if v.Valid.Get(i) {
				v.Strings = append(v.Strings, v.Dict.Value(code))
			} else {
				v.Strings = append(v.Strings, "")
			}
		}
		v.Dict, v.Codes = nil, nil
	}
	if c.text.of != c.page {
		blob, offsets := c.data.ByteArray()
		blob, offsets = c.s.checked(c.field, blob, offsets)
		c.text = pageText{of: c.page, blob: string(blob), offsets: offsets}
	}
	if first+n+1 > len(c.text.offsets) {
		return errLevels
	}
	for i := first; i < first+n; i++ {
		v.Strings = append(v.Strings, c.text.blob[c.text.offsets[i]:c.text.offsets[i+1]])
	}
	return nil
}

// useDictionary makes the dictionary of the column chunk ours.
func (c *flatColumn) useDictionary(d parquet.Dictionary) error {
	if c.of == d {
		return nil
	}
	data := d.Page().Data()
	blob, offsets := data.ByteArray()
	blob, offsets = c.s.checked(c.field, blob, offsets)
	c.of, c.dict = d, &vector.Dict{Blob: bytes.Clone(blob), Offsets: slices.Clone(offsets)}
	if len(c.dict.Offsets) == 0 {
		c.dict.Offsets = []uint32{0}
	}
	return nil
}

// checked returns the text of many values as they may be: without U+0000, which ends the reading unless it is to be removed, and in UTF-8.
func (s *sink) checked(field int, blob []byte, offsets []uint32) ([]byte, []uint32) {
	if bytes.IndexByte(blob, 0) < 0 && utf8.Valid(blob) && !slices.ContainsFunc(offsets, func(at uint32) bool {
		return int(at) < len(blob) && !utf8.RuneStart(blob[at])
	}) {
		return blob, offsets
	}
	out, places := make([]byte, 0, len(blob)), make([]uint32, 1, len(offsets))
	for i := 0; i+1 < len(offsets); i++ {
		text := validUTF8(blob[offsets[i]:offsets[i+1]])
		if at := bytes.IndexByte(text, 0); at >= 0 {
			text = s.nullByte(field, text, at)
		}
		out = append(out, text...)
		places = append(places, uint32(len(out)))
	}
	return out, places
}
