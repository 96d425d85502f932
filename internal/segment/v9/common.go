package v9

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/vector"
)

// common is a column of the common format: what Druid makes of columns whose type it finds out
// itself. Its part has a header only, the values are in further parts.
type common struct {
	parts *smoosh
	name  string
	order binary.ByteOrder
	kind  bitmapKind
	typ   vector.Type
	rows  int
	nulls bool
	// mixed is whether rows have values of several types.
	mixed bool
}

// The bits of the types that a column of mixed values has.
const (
	mixedString  = 1 << 0
	mixedLong    = 1 << 2
	mixedDouble  = 1 << 3
	mixedStrings = 1 << 4
	mixedLongs   = 1 << 5
	mixedDoubles = 1 << 6
	mixedEmpty   = 1 << 7 // arrays without a value
)

// header reads the header; of a column of mixed types it knows the type that all values fit into.
func (c *cursor) header(col *common) {
	c.version("a column of the common format", 0)
	col.name = string(c.take(c.varint()))
	if c.err != nil || len(c.b) == 0 || !col.mixed && col.typ.Kind != vector.KindList {
		return
	}
	set := c.byte()
	elem := vector.Long
	switch {
	case set&(mixedString|mixedStrings) != 0:
		elem = vector.String
	case set&(mixedDouble|mixedDoubles) != 0:
		elem = vector.Double
	}
	if col.typ = elem; set&(mixedStrings|mixedLongs|mixedDoubles|mixedEmpty) != 0 {
		col.typ = vector.ListOf(elem)
	}
	col.mixed = true
}

func (col *common) open(suffix string) (*cursor, error) {
	return col.parts.open(col.name + "." + suffix)
}

// read returns the values.
func (col *common) read() (*vector.Vector, error) {
	switch {
	case col.mixed || col.typ.Kind == vector.KindList:
		return col.variants()
	case col.typ == vector.String:
		texts, hasNull, err := col.texts()
		if err != nil {
			return nil, err
		}
		codes, err := col.encoded()
		if err != nil {
			return nil, err
		}
		c := &cursor{part: col.name}
		return c.textVector(codes, texts, hasNull), c.err
	case col.typ == vector.Long:
		c, err := col.open("__longColumn")
		if err != nil {
			return nil, err
		}
		v := vector.FromLongs(c.longs(col.order, col.parts))
		if c.err != nil {
			return nil, c.err
		}
		v.Valid, err = col.valid()
		return v, err
	case col.typ == vector.Double:
		c, err := col.open("__doubleColumn")
		if err != nil {
			return nil, err
		}
		v := vector.FromDoubles(c.doubles(col.order, col.parts))
		if c.err != nil {
			return nil, c.err
		}
		v.Valid, err = col.valid()
		return v, err
	}
	return nil, unknown(col.name, "it has type [%s]", col.typ)
}

// valid returns which rows of a column of numbers have one: its first index is that of the nulls.
func (col *common) valid() (vector.Bitmap, error) {
	if !col.nulls {
		return nil, nil
	}
	c, err := col.open("__valueIndexes")
	if err != nil {
		return nil, err
	}
	bitmaps := c.indexed(col.parts)
	if c.err != nil || bitmaps.n == 0 {
		return nil, c.err
	}
	first, _, err := bitmaps.at(0)
	if err != nil {
		return nil, err
	}
	return without(c.part, col.kind, first, col.rows)
}

func (col *common) encoded() ([]uint32, error) {
	c, err := col.open("__encodedColumn")
	if err != nil {
		return nil, err
	}
	codes := c.codes(col.order, col.parts)
	return codes, c.err
}

func (col *common) texts() ([]string, bool, error) {
	c, err := col.open("__stringDictionary")
	if err != nil {
		return nil, false, err
	}
	texts, hasNull := c.dictionary(col.order, col.parts)
	return texts, hasNull, c.err
}

// dictionaries are the values that codes of a column of arrays or mixed values mean: first the
// texts, then the longs, the doubles and the arrays, whose elements are such codes. Code 0 is null.
type dictionaries struct {
	texts   []string
	longs   []int64
	doubles []float64
	arrays  [][]uint32
}

func (col *common) dictionaries() (d dictionaries, err error) {
	if d.texts, _, err = col.texts(); err != nil {
		return d, err
	}
	c, err := col.open("__longDictionary")
	if err != nil {
		return d, err
	}
	if d.longs, _ = fixed(c, col.order, 8, func(b []byte) int64 { return int64(col.order.Uint64(b)) }); c.err != nil {
		return d, c.err
	}
	if c, err = col.open("__doubleDictionary"); err != nil {
		return d, err
	}
	if d.doubles, _ = fixed(c, col.order, 8, func(b []byte) float64 { return math.Float64frombits(col.order.Uint64(b)) }); c.err != nil {
		return d, c.err
	}
	if c, err = col.open("__arrayDictionary"); err != nil {
		return d, err
	}
	d.arrays = c.frontCodedLists(col.order)
	return d, c.err
}

// variants reads a column of arrays or of mixed values, all as the one type of the column: numbers
// as texts among texts, single values as arrays among arrays.
func (col *common) variants() (*vector.Vector, error) {
	d, err := col.dictionaries()
	if err != nil {
		return nil, err
	}
	codes, err := col.encoded()
	if err != nil {
		return nil, err
	}
	firstArray := uint32(len(d.texts) + len(d.longs) + len(d.doubles))
	elem, lists := col.typ, col.typ.Kind == vector.KindList
	if lists {
		elem = col.typ.Elem()
	}
	out := vector.NewBuilder(col.typ, len(codes))
	values := out
	if lists {
		values = out.Child()
	}
	for i, code := range codes {
		switch {
		case code == 0:
			out.AppendNull()
		case code < firstArray:
			if err := col.appendValue(values, elem, &d, code); err != nil {
				return nil, err
			}
			if lists {
				out.AppendList()
			}
		case !lists || int(code-firstArray) >= len(d.arrays):
			return nil, corrupt(col.name, "row [%d] has code [%d], which means nothing", i, code)
		default:
			for _, element := range d.arrays[code-firstArray] {
				if element == 0 {
					values.AppendNull()
				} else if err := col.appendValue(values, elem, &d, element); err != nil {
					return nil, err
				}
			}
			out.AppendList()
		}
	}
	return coded(out.Build()), nil
}

// appendValue appends the value of a code as t.
func (col *common) appendValue(to *vector.Builder, t vector.Type, d *dictionaries, code uint32) error {
	at := int(code)
	switch {
	case at < len(d.texts):
		if t == vector.String {
			to.AppendString(d.texts[at])
			return nil
		}
	case at < len(d.texts)+len(d.longs):
		n := d.longs[at-len(d.texts)]
		switch t {
		case vector.Long:
			to.AppendLong(n)
		case vector.Double:
			to.AppendDouble(float64(n))
		default:
			to.AppendString(strconv.FormatInt(n, 10))
		}
		return nil
	case at < len(d.texts)+len(d.longs)+len(d.doubles):
		x := d.doubles[at-len(d.texts)-len(d.longs)]
		switch t {
		case vector.Double:
			to.AppendDouble(x)
			return nil
		case vector.String:
			to.AppendString(string(vector.AppendDouble(nil, x)))
			return nil
		}
	}
	return corrupt(col.name, "code [%d] is not a value of type [%s]", code, t)
}

// coded returns v with its texts as codes of a dictionary, in the order in which they first come.
func coded(v *vector.Vector) *vector.Vector {
	if v.Type.Kind == vector.KindList {
		out := *v
		out.Child = coded(v.Child)
		return &out
	}
	if v.Type != vector.String {
		return v
	}
	numbers := map[string]uint32{}
	var texts []string
	out := *v
	out.Strings, out.Codes = nil, make([]uint32, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		code, known := numbers[v.Strings[i]]
		if !known {
			code = uint32(len(texts))
			numbers[v.Strings[i]] = code
			texts = append(texts, v.Strings[i])
		}
		out.Codes[i] = code
	}
	out.Dict = vector.NewDict(texts)
	return &out
}
