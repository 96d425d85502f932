package ingest

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/ingest/parquet"
	"github.com/hengedb/henge/internal/vector"
)

// flatColumn reads a column without nesting, page after page, into vectors. What it gives away it
// never touches again.
type flatColumn struct {
	pages *parquet.Pages
	s     *sink
	field int
	typ   vector.Type
	// append appends values of the page to the vector being made.
	append pageReader

	page   *parquet.Page
	levels []byte // of the page's rows, 1 for a value; nil: all have one
	row    int    // next of the page
	value  int    // next of the values, of which nulls have none

	out   *vector.Vector
	nulls int
	dict  *vector.Dict // of the column chunk, made when a page uses it
	of    *parquet.Values
	text  pageText
}

// pageReader appends n values of the page of c, which begin at value from, to c.out.
type pageReader func(c *flatColumn, from, n int) error

// pageText is the text of a plain page, copied once.
type pageText struct {
	blob    string
	offsets []uint32 // nil: not copied yet
}

func (c *flatColumn) read(n int) (*vector.Vector, error) {
	c.out, c.nulls = &vector.Vector{Type: c.typ, Len: n}, 0
	for at := 0; at < n; {
		if c.page == nil || c.row == c.page.Count {
			page, err := c.pages.Next()
			if err != nil {
				return nil, err
			}
			c.page, c.row, c.value, c.levels, c.text = page, 0, 0, page.Definitions, pageText{}
		}
		rows := min(n-at, c.page.Count-c.row)
		if err := c.rows(at, n, rows); err != nil {
			return nil, err
		}
		at += rows
	}
	out := c.out
	c.out = nil
	return out, nil
}

// Rows reads the next rows of the page, which are those of the vector from row at on; it has n.
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

func (c *flatColumn) close() error { return nil }

// flatReader returns what reads the values of c as those of a type, or nil when only the general
// way does.
func flatReader(c *parquet.Column, typ vector.Type, binaryAsString bool) pageReader {
	scale, whole := parquet.ScaleOf(c)
	switch kind, to := c.Type, typ.Kind; {
	case c.Logical == parquet.Decimal:
		return nil
	case kind == parquet.Int64 && whole && to == vector.KindLong:
		return wholes(int64s, longs, scale)
	case kind == parquet.Int64 && whole && to == vector.KindDouble:
		return wholes(int64s, doubles, scale)
	case kind == parquet.Int32 && whole && to == vector.KindLong:
		return wholes(int32s, longs, scale)
	case kind == parquet.Int32 && whole && to == vector.KindDouble:
		return wholes(int32s, doubles, scale)
	case kind == parquet.Double && to == vector.KindDouble:
		return numbers(float64s, doubles, func(dst, src []float64) { copy(dst, src) })
	case kind == parquet.Float && to == vector.KindDouble:
		return numbers(float32s, doubles, widened[float32, float64])
	case kind == parquet.Float && to == vector.KindFloat:
		return numbers(float32s, func(v *vector.Vector) *[]float32 { return &v.Floats }, func(dst, src []float32) { copy(dst, src) })
	case kind == parquet.ByteArray && to == vector.KindString && parquet.IsText(c, binaryAsString):
		return pageStrings
	}
	return nil
}

func int32s(v *parquet.Values) []int32     { return v.Int32 }
func int64s(v *parquet.Values) []int64     { return v.Int64 }
func float32s(v *parquet.Values) []float32 { return v.Floats }
func float64s(v *parquet.Values) []float64 { return v.Doubles }
func longs(v *vector.Vector) *[]int64      { return &v.Longs }
func doubles(v *vector.Vector) *[]float64  { return &v.Doubles }

func widened[From, To int32 | int64 | float32 | float64](dst []To, src []From) {
	for i, x := range src {
		dst[i] = To(x)
	}
}

// Numbers reads numbers as numbers. What is in a dictionary is converted once.
func numbers[From, To any](from func(*parquet.Values) []From, to func(*vector.Vector) *[]To,
	convert func(dst []To, src []From),
) pageReader {
	var of *parquet.Values
	var entries []To
	return func(c *flatColumn, first, n int) error {
		values, out := c.page.Values, to(c.out)
		if cap(*out) < c.out.Len {
			*out = append(make([]To, 0, c.out.Len), *out...)
		}
		before := len(*out)
		*out = (*out)[:before+n]
		dst := (*out)[before:]
		if !c.page.Coded {
			convert(dst, from(values)[first:first+n])
			return nil
		}
		if of != values {
			of, entries = values, make([]To, values.Len)
			convert(entries, from(values))
		}
		for k, i := range c.page.Indexes[first : first+n] {
			dst[k] = entries[i]
		}
		return nil
	}
}

// wholes reads whole numbers, some of which are times in other units. They become other units
// before they become other types, so that a DOUBLE is the number that a BIGINT is.
func wholes[From int32 | int64, To int64 | float64](from func(*parquet.Values) []From,
	to func(*vector.Vector) *[]To, scale parquet.Scale,
) pageReader {
	if scale.One() {
		return numbers(from, to, widened[From, To])
	}
	return numbers(from, to, func(dst []To, src []From) {
		for i, x := range src {
			dst[i] = To(scale.Apply(int64(x)))
		}
	})
}

// pageStrings reads text: as codes while all pages of the vector share a dictionary, else as
// strings.
func pageStrings(c *flatColumn, first, n int) error {
	v := c.out
	if c.page.Coded {
		c.useDictionary(c.page.Values)
		if v.Dict == nil && len(v.Strings) == 0 {
			v.Dict, v.Codes = c.dict, make([]uint32, 0, v.Len)
		}
		indexes := c.page.Indexes[first : first+n]
		if v.Dict != nil {
			v.Codes = append(v.Codes, indexes...)
			return nil
		}
		for _, i := range indexes {
			v.Strings = append(v.Strings, c.dict.Value(i))
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
	if c.text.offsets == nil {
		blob, offsets := c.s.checked(c.field, c.page.Values.Bytes, c.page.Values.Offsets)
		c.text = pageText{blob: string(blob), offsets: offsets}
	}
	for i := first; i < first+n; i++ {
		v.Strings = append(v.Strings, c.text.blob[c.text.offsets[i]:c.text.offsets[i+1]])
	}
	return nil
}

// useDictionary makes the dictionary of the column chunk ours.
func (c *flatColumn) useDictionary(d *parquet.Values) {
	if c.of == d {
		return
	}
	blob, offsets := c.s.checked(c.field, d.Bytes, d.Offsets)
	c.of, c.dict = d, &vector.Dict{Blob: bytes.Clone(blob), Offsets: slices.Clone(offsets)}
	if len(c.dict.Offsets) == 0 {
		c.dict.Offsets = []uint32{0}
	}
}

// checked returns the text of many values as they may be: without U+0000, which ends the reading
// unless it is to be removed, and in UTF-8.
func (s *sink) checked(field int, blob []byte, offsets []uint32) ([]byte, []uint32) {
	if bytes.IndexByte(blob, 0) < 0 && utf8.Valid(blob) && !slices.ContainsFunc(offsets, func(at uint32) bool {
		return int(at) < len(blob) && !utf8.RuneStart(blob[at])
	}) {
		return blob, offsets
	}
	out, positions := make([]byte, 0, len(blob)), make([]uint32, 1, len(offsets))
	for i := 0; i+1 < len(offsets); i++ {
		text := s.malformed.Text(s.fields[field].Name, blob[offsets[i]:offsets[i+1]])
		if at := bytes.IndexByte(text, 0); at >= 0 {
			text = s.nullByte(field, text, at)
		}
		out = append(out, text...)
		positions = append(positions, uint32(len(out)))
	}
	return out, positions
}
