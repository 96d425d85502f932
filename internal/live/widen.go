package live

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// widen returns the column that holds the values of both, which have one name: the least
// restrictive type, as for the columns of a datasource.
func widen(a, b segment.ColumnSpec) segment.ColumnSpec {
	if a.Type == b.Type && a.Multi == b.Multi || a.Metric != "" {
		return a
	}
	out := a
	out.NoIndex = a.NoIndex && b.NoIndex
	if a.Type != vector.JSON && b.Type != vector.JSON && (a.Multi || b.Multi) && !isArray(a) && !isArray(b) {
		out.Type, out.Multi = vector.ListOf(vector.String), true
		return out
	}
	out.Type, out.Multi = widerType(a.Type, b.Type), false
	return out
}

func isArray(c segment.ColumnSpec) bool { return c.Type.Kind == vector.KindList && !c.Multi }

func widerType(a, b vector.Type) vector.Type {
	switch {
	case a == b:
		return a
	case a == vector.JSON || b == vector.JSON:
		return vector.JSON
	case a.Kind == vector.KindList || b.Kind == vector.KindList:
		return vector.ListOf(widerType(elementOf(a), elementOf(b)))
	case !a.IsNumeric() || !b.IsNumeric():
		return vector.String
	case a == vector.Double || b == vector.Double:
		return vector.Double
	}
	return vector.Float
}

func elementOf(t vector.Type) vector.Type {
	if t.Kind == vector.KindList {
		return t.Elem()
	}
	return t
}

// convert returns v as values of a wider type.
func convert(v *vector.Vector, to vector.Type) *vector.Vector {
	b := vector.NewBuilder(to, v.Len)
	for i := range v.Len {
		appendAs(b, v, i)
	}
	return b.Build()
}

// appendAs appends a value as one of the type of b.
func appendAs(b *vector.Builder, v *vector.Vector, i int) {
	to := b.Type()
	switch {
	case v.IsNull(i):
		b.AppendNull()
	case v.Type == to:
		b.AppendFrom(v, i)
	case to == vector.JSON:
		b.AppendString(string(appendJSON(nil, v, i)))
	case to.Kind == vector.KindList && v.Type.Kind == vector.KindList:
		lo, hi := v.ListAt(i)
		for ; lo < hi; lo++ {
			appendAs(b.Child(), v.Child, lo)
		}
		b.AppendList()
	case to.Kind == vector.KindList:
		appendAs(b.Child(), v, i)
		b.AppendList()
	case to == vector.Double:
		b.AppendDouble(number(v, i))
	case to == vector.Float:
		b.AppendFloat(float32(number(v, i)))
	default:
		b.AppendString(string(appendText(nil, v, i)))
	}
}

func number(v *vector.Vector, i int) float64 {
	if v.Type == vector.Long {
		return float64(v.LongAt(i))
	}
	return v.DoubleAt(i)
}

func appendText(dst []byte, v *vector.Vector, i int) []byte {
	switch v.Type.Kind {
	case vector.KindLong:
		return strconv.AppendInt(dst, v.LongAt(i), 10)
	case vector.KindDouble:
		return vector.AppendDouble(dst, v.DoubleAt(i))
	case vector.KindFloat:
		return vector.AppendFloat(dst, float32(v.DoubleAt(i)))
	case vector.KindList:
		return appendJSON(dst, v, i)
	}
	return append(dst, v.StringAt(i)...)
}

func appendJSON(dst []byte, v *vector.Vector, i int) []byte {
	switch {
	case v.IsNull(i):
		return append(dst, "null"...)
	case v.Type.Kind == vector.KindList:
		lo, hi := v.ListAt(i)
		dst = append(dst, '[')
		for at := lo; at < hi; at++ {
			if at > lo {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, v.Child, at)
		}
		return append(dst, ']')
	case v.Type.IsNumeric():
		text, err := json.Marshal(v.ValueAt(i))
		if err != nil { // NaN and infinities have no form
			return append(dst, "null"...)
		}
		return append(dst, text...)
	case v.Type == vector.JSON:
		return append(dst, v.StringAt(i)...)
	}
	text, _ := json.Marshal(v.StringAt(i)) // a string has a form
	return append(dst, text...)
}

// conformed is a reader whose columns have other types than those that are stored.
type conformed struct {
	segment.Reader
	info segment.Info
	// table has the columns whose type is another.
	table segment.Reader
}

// conform returns r with the columns of specs: those that it lacks are missing as before, those of
// another type are converted when they are asked for. It has the references of r.
func conform(r segment.Reader, specs []segment.ColumnSpec) segment.Reader {
	c := &conformed{Reader: r, info: *r.Info()}
	c.info.Columns = slices.Clone(c.info.Columns)
	own := segment.Info{Rows: c.info.Rows}
	for i := range c.info.Columns {
		info := &c.info.Columns[i]
		at := slices.IndexFunc(specs, func(s segment.ColumnSpec) bool { return s.Name == info.Name })
		if at < 0 || fits(*info, specs[at]) {
			continue
		}
		*info = segment.ColumnInfo{
			Name: info.Name, Type: specs[at].Type, Multi: specs[at].Multi, Metric: info.Metric, Nulls: info.Nulls, Distinct: -1,
		}
		own.Columns = append(own.Columns, *info)
	}
	if len(own.Columns) == 0 {
		return r
	}
	c.table = segment.NewTable(own, func(name string) (*vector.Vector, error) { return loadAs(r, *own.Column(name)) })
	return c
}

// fits reports whether a stored column is read as what spec says. Multi-value strings without
// several values are stored plain.
func fits(has segment.ColumnInfo, spec segment.ColumnSpec) bool {
	return has.Type == spec.Type || spec.Multi && has.Type == vector.String
}

func (c *conformed) Info() *segment.Info { return &c.info }

func (c *conformed) Column(name string) (segment.Column, error) {
	if own, err := c.table.Column(name); own != nil || err != nil {
		return own, err
	}
	return c.Reader.Column(name)
}

// loadAs returns all values of a column as those of another type, texts as codes.
func loadAs(r segment.Reader, as segment.ColumnInfo) (*vector.Vector, error) {
	from, err := r.Column(as.Name)
	if err != nil {
		return nil, err
	}
	out := vector.NewBuilder(as.Type, r.Info().Rows)
	var buf segment.Buffer
	for at := 0; at < r.Info().Rows; at += segment.BlockRows {
		to := min(at+segment.BlockRows, r.Info().Rows)
		v, err := from.Read(&buf, at, to)
		if err != nil {
			return nil, err
		}
		out.AppendRange(convert(v, as.Type), 0, to-at)
	}
	v := out.Build()
	leaf := v
	for leaf.Type.Kind == vector.KindList {
		leaf = leaf.Child
	}
	if leaf.Type == vector.String {
		encode(leaf)
	}
	return v, nil
}

// encode makes texts codes of a dictionary.
func encode(v *vector.Vector) {
	codes := map[string]uint32{}
	for i := range v.Len {
		if !v.IsNull(i) {
			codes[v.Strings[i]] = 0
		}
	}
	if len(codes) == 0 { // there is nothing that a code could mean
		*v = *vector.Nulls(vector.String, v.Len)
		v.Dict = nil
		return
	}
	entries := slices.Sorted(maps.Keys(codes))
	for i, e := range entries {
		codes[e] = uint32(i)
	}
	v.Codes, v.Dict = make([]uint32, v.Len), vector.NewDict(entries)
	for i := range v.Len {
		if !v.IsNull(i) {
			v.Codes[i] = codes[v.Strings[i]]
		}
	}
	v.Strings = nil
}
