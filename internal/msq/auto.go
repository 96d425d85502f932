package msq

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// autoValues notes what columns whose type follows from their values have in each time chunk. The
// plan makes such a column JSON where its values have no type in common, or are computed as JSON; a
// chunk whose values have one gets it: readers join the types of segments. The other way round, a
// chunk that has only empty lists where others have elements tells nothing of their type: the
// column is nested there, as in segments of Druid. See quirk Q017.
type autoValues struct {
	columns []int
	lists   []bool                 // which of columns are lists in the plan
	chunks  map[int64][]valueKinds // by time chunk, by column of columns
}

// valueKinds are the kinds of values that a time chunk has in a column: of the values themselves
// and of the elements of those that are lists.
type valueKinds uint8

const (
	someLong valueKinds = 1 << iota
	someDouble
	someText
	someList
	someNested  // an object, or a list of lists or objects
	someElement // of a list of the plan
)

// newAutoValues returns the notes of a job's columns; nil: there are no such columns.
func (k *core) newAutoValues() *autoValues {
	t := k.job.Target
	if t == nil || t.Auto == nil {
		return nil
	}
	a := &autoValues{chunks: map[int64][]valueKinds{}}
	for i, col := range k.job.write().Columns() {
		list := col.Type.Runtime().Kind == vector.KindList
		if t.Auto[i] && !col.Type.Multi && (list || col.Type.Runtime() == vector.JSON) {
			a.columns, a.lists = append(a.columns, i), append(a.lists, list)
		}
	}
	if a.columns == nil {
		return nil
	}
	return a
}

// note learns from rows with the given time chunks.
func (a *autoValues) note(columns []*vector.Vector, buckets *vector.Vector, n int) {
	for lo := 0; lo < n; {
		hi, bucket := sameLong(buckets, lo, n), buckets.LongAt(lo)
		kinds := a.chunks[bucket]
		if kinds == nil {
			kinds = make([]valueKinds, len(a.columns))
			a.chunks[bucket] = kinds
		}
		for k, at := range a.columns {
			v := columns[at]
			for i := lo; i < hi && kinds[k]&(someNested|someElement) == 0; i++ {
				switch {
				case v.IsNull(i):
				case !a.lists[k]:
					kinds[k] |= kindsOf(v.StringAt(i))
				default:
					kinds[k] |= someList
					if from, to := v.ListAt(i); to > from {
						kinds[k] |= someElement
					}
				}
			}
		}
		lo = hi
	}
}

// kindsOf returns what a JSON value is.
func kindsOf(text string) valueKinds {
	if strings.HasPrefix(text, "{") {
		return someNested
	}
	value, ok := decodeJSON(text)
	if !ok {
		return someNested
	}
	list, ok := value.([]any)
	if !ok {
		return kindOf(value)
	}
	kinds := someList
	for _, e := range list {
		if _, deep := e.([]any); deep {
			return someNested
		}
		kinds |= kindOf(e)
	}
	return kinds
}

func kindOf(value any) valueKinds {
	switch value.(type) {
	case int64, bool:
		return someLong
	case float64:
		return someDouble
	case string:
		return someText
	case nil:
		return 0
	}
	return someNested
}

// column returns the type that holds all values, or JSON.
func (k valueKinds) column() vector.Type {
	if k&someNested != 0 {
		return vector.JSON
	}
	t := vector.Long // of empty lists, and lists of NULLs
	switch {
	case k&someText != 0, k == 0:
		t = vector.String
	case k&someDouble != 0:
		t = vector.Double
	}
	if k&someList != 0 {
		return vector.ListOf(t)
	}
	return t
}

// autoTypes returns, by time chunk, the types that columns of the statement have there, as the
// workers' notes say.
func autoTypes(notes []*autoValues) map[int64]map[int]vector.Type {
	if len(notes) == 0 || notes[0] == nil {
		return nil
	}
	all := map[int64][]valueKinds{}
	for _, a := range notes {
		for bucket, kinds := range a.chunks {
			if all[bucket] == nil {
				all[bucket] = make([]valueKinds, len(kinds))
			}
			for k, kind := range kinds {
				all[bucket][k] |= kind
			}
		}
	}
	overall := make([]valueKinds, len(notes[0].columns))
	for _, kinds := range all {
		for k, kind := range kinds {
			overall[k] |= kind
		}
	}
	out := map[int64]map[int]vector.Type{}
	for bucket, kinds := range all {
		types := map[int]vector.Type{}
		for k, kind := range kinds {
			switch at := notes[0].columns[k]; {
			case !notes[0].lists[k] && kind == 0:
				types[at] = overall[k].column() // nothing but NULLs
			case !notes[0].lists[k]:
				types[at] = kind.column()
			case kind == someList && overall[k] != kind:
				types[at] = vector.JSON
			}
		}
		out[bucket] = types
	}
	return out
}

// forChunk returns the layout of a time chunk's segments.
func (l *layout) forChunk(bucket int64) *layout {
	types := l.auto[bucket]
	if len(types) == 0 {
		return l
	}
	c := *l
	c.columns = slices.Clone(l.columns)
	for i, from := range l.from {
		if t, ok := types[from]; ok {
			c.columns[i].Type = t
		}
	}
	return &c
}

// nestedLists returns empty lists as JSON.
func nestedLists(v *vector.Vector) *vector.Vector {
	b := vector.NewBuilder(vector.JSON, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			b.AppendNull()
		} else {
			b.AppendString("[]")
		}
	}
	return b.Build()
}

// Typed converts JSON values to another type, which can represent all of them.
func Typed(v *vector.Vector, t vector.Type) *vector.Vector { return typedValues(v, t) }

// typedValues returns JSON values as values of the type that kindsOf found for them.
func typedValues(v *vector.Vector, t vector.Type) *vector.Vector {
	b := vector.NewBuilder(t, v.Len)
	for i := range v.Len {
		var value any
		if !v.IsNull(i) {
			value, _ = decodeJSON(v.StringAt(i))
		}
		list, isList := value.([]any)
		switch {
		case value == nil:
			b.AppendNull()
		case t.Kind != vector.KindList:
			appendScalar(b, value, t, false)
		case !isList:
			appendScalar(b.Child(), value, t.Elem(), false)
			b.AppendList()
		default:
			mixed := slices.ContainsFunc(list, func(e any) bool { return kindOf(e) == someText })
			for _, e := range list {
				appendScalar(b.Child(), e, t.Elem(), mixed)
			}
			b.AppendList()
		}
	}
	return b.Build()
}

// appendScalar appends a value as one of the type t. A boolean is the number 0 or 1, save as text
// beside texts in a list.
func appendScalar(b *vector.Builder, value any, t vector.Type, words bool) {
	if yes, ok := value.(bool); ok && !(words && t == vector.String) {
		value = int64(0)
		if yes {
			value = int64(1)
		}
	}
	if value == nil {
		b.AppendNull()
		return
	}
	switch t.Kind {
	case vector.KindString:
		b.AppendString(scalarText(value))
	case vector.KindDouble:
		if n, ok := value.(int64); ok {
			value = float64(n)
		}
		fallthrough
	default:
		b.Append(value)
	}
}

// scalarText returns a value that decodeJSON returned as a VARCHAR column has it.
func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return string(expr.AppendDouble(nil, v))
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// decodeJSON reads a scalar or a list of a JSON column. Whole numbers are int64 where they fit,
// other numbers float64.
func decodeJSON(text string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil, false
	}
	if list, ok := value.([]any); ok {
		for i := range list {
			list[i] = number(list[i])
		}
	}
	return number(value), true
}

func number(value any) any {
	digits, ok := value.(json.Number)
	if !ok {
		return value
	}
	if n, err := digits.Int64(); err == nil {
		return n
	}
	x, _ := digits.Float64() // infinite where it is too large
	return x
}
