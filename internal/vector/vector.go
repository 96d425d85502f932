package vector

// Vector holds the values of one column for Len rows. Which slices are set follows from Type and
// the encoding (package comment). A vector is read-only once it has been passed on: code that
// changes it copies it first.
type Vector struct {
	Type Type
	Len  int
	// Const: element 0 is the value of every row, including its validity.
	Const bool
	// Valid has a set bit for each row with a value; nil: all rows have a value. The values of null
	// rows are unspecified.
	Valid Bitmap

	Longs   []int64
	Doubles []float64
	Floats  []float32
	Strings []string

	// Codes and Dict encode a string vector; Dict is nil in other encodings. Codes of null rows are
	// unspecified but valid for Dict.
	Codes []uint32
	Dict  *Dict

	// Offsets (Len+1 of them) and Child encode a list: row i is Child[Offsets[i]:Offsets[i+1]].
	Offsets []uint32
	Child   *Vector
}

// New returns a flat vector of n rows of t, all valid and zero. Lists are all empty.
func New(t Type, n int) *Vector {
	v := &Vector{Type: t, Len: n}
	switch t.Kind {
	case KindLong:
		v.Longs = make([]int64, n)
	case KindDouble:
		v.Doubles = make([]float64, n)
	case KindFloat:
		v.Floats = make([]float32, n)
	case KindString, KindComplex:
		v.Strings = make([]string, n)
	case KindList:
		v.Offsets = make([]uint32, n+1)
		v.Child = New(t.Elem(), 0)
	}
	return v
}

// FromLongs, FromDoubles, FromFloats and FromStrings wrap a slice as a flat vector without copying
// it.
func FromLongs(x []int64) *Vector { return &Vector{Type: Long, Len: len(x), Longs: x} }

// FromDoubles wraps x; see FromLongs.
func FromDoubles(x []float64) *Vector { return &Vector{Type: Double, Len: len(x), Doubles: x} }

// FromFloats wraps x; see FromLongs.
func FromFloats(x []float32) *Vector { return &Vector{Type: Float, Len: len(x), Floats: x} }

// FromStrings wraps x; see FromLongs.
func FromStrings(x []string) *Vector { return &Vector{Type: String, Len: len(x), Strings: x} }

// FromCodes wraps dictionary codes; see FromLongs.
func FromCodes(codes []uint32, d *Dict) *Vector {
	return &Vector{Type: String, Len: len(codes), Codes: codes, Dict: d}
}

// Nulls returns n nulls of type t, as a constant.
func Nulls(t Type, n int) *Vector {
	v := New(t, 1)
	v.Const, v.Len, v.Valid = true, n, NewBitmap(1)
	return v
}

// Constant returns value (an int64, float64, float32, string, []any or nil, fitting t) n times.
func Constant(t Type, value any, n int) *Vector {
	b := NewBuilder(t, 1)
	b.Append(value)
	v := b.finish()
	v.Const, v.Len = true, n
	return v
}

// IsNull reports whether row i has no value.
func (v *Vector) IsNull(i int) bool {
	if v.Valid == nil {
		return false
	}
	if v.Const {
		i = 0
	}
	return !v.Valid.Get(i)
}

// HasNulls reports whether any row may be null; false means certainly none.
func (v *Vector) HasNulls() bool { return v.Valid != nil }

// AllNull reports whether v is a constant null.
func (v *Vector) AllNull() bool { return v.Const && v.Valid != nil && !v.Valid.Get(0) }

// at maps a row to its place in the slices.
func (v *Vector) at(i int) int {
	if v.Const {
		return 0
	}
	return i
}

// LongAt returns row i of a Long vector; like the other At methods, it ignores validity.
func (v *Vector) LongAt(i int) int64 { return v.Longs[v.at(i)] }

// DoubleAt returns row i of a numeric vector as a double.
func (v *Vector) DoubleAt(i int) float64 {
	switch v.Type.Kind {
	case KindDouble:
		return v.Doubles[v.at(i)]
	case KindFloat:
		return float64(v.Floats[v.at(i)])
	default:
		return float64(v.Longs[v.at(i)])
	}
}

// StringAt returns row i of a String or Complex vector.
func (v *Vector) StringAt(i int) string {
	i = v.at(i)
	if v.Dict != nil {
		return v.Dict.Value(v.Codes[i])
	}
	return v.Strings[i]
}

// ListAt returns the bounds of row i in Child.
func (v *Vector) ListAt(i int) (lo, hi int) {
	i = v.at(i)
	return int(v.Offsets[i]), int(v.Offsets[i+1])
}

// ValueAt returns row i boxed: int64, float64, float32, string, []any or nil. It is for results and
// tests, not for inner loops.
func (v *Vector) ValueAt(i int) any {
	if v.IsNull(i) {
		return nil
	}
	switch v.Type.Kind {
	case KindLong:
		return v.Longs[v.at(i)]
	case KindDouble:
		return v.Doubles[v.at(i)]
	case KindFloat:
		return v.Floats[v.at(i)]
	case KindString, KindComplex:
		return v.StringAt(i)
	case KindList:
		lo, hi := v.ListAt(i)
		out := make([]any, 0, hi-lo)
		for ; lo < hi; lo++ {
			out = append(out, v.Child.ValueAt(lo))
		}
		return out
	}
	return nil
}

// Where returns v with nulls in the rows that are not in valid. The result may share memory with
// valid.
func (v *Vector) Where(valid Bitmap) *Vector {
	if valid == nil {
		return v
	}
	if v.Const {
		v = v.Flat()
	}
	out := *v
	out.Valid = And(v.Valid, valid, v.Len)
	return &out
}

// Gather returns the rows of v whose numbers are in rows, in this order. It preserves the encoding.
func (v *Vector) Gather(rows []uint32) *Vector {
	n := len(rows)
	if v.Const {
		c := *v
		c.Len = n
		return &c
	}
	out := &Vector{Type: v.Type, Len: n, Dict: v.Dict}
	switch {
	case v.Dict != nil:
		out.Codes = gather(v.Codes, rows)
	case v.Type.Kind == KindLong:
		out.Longs = gather(v.Longs, rows)
	case v.Type.Kind == KindDouble:
		out.Doubles = gather(v.Doubles, rows)
	case v.Type.Kind == KindFloat:
		out.Floats = gather(v.Floats, rows)
	case v.Type.Kind == KindString, v.Type.Kind == KindComplex:
		out.Strings = gather(v.Strings, rows)
	case v.Type.Kind == KindList:
		out.Offsets = make([]uint32, n+1)
		var child []uint32
		for i, r := range rows {
			for k := v.Offsets[r]; k < v.Offsets[r+1]; k++ {
				child = append(child, k)
			}
			out.Offsets[i+1] = uint32(len(child))
		}
		out.Child = v.Child.Gather(child)
	}
	if v.Valid != nil {
		valid, all := NewBitmap(n), true
		for i, r := range rows {
			if v.Valid.Get(int(r)) {
				valid.Set(i)
			} else {
				all = false
			}
		}
		if !all {
			out.Valid = valid
		}
	}
	return out
}

func gather[T any](src []T, rows []uint32) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = src[r]
	}
	return out
}

// Slice returns rows lo to hi (exclusive). Values are shared; validity is copied unless lo is a
// multiple of 64.
func (v *Vector) Slice(lo, hi int) *Vector {
	out := *v
	out.Len = hi - lo
	if v.Const {
		return &out
	}
	switch {
	case v.Dict != nil:
		out.Codes = v.Codes[lo:hi]
	case v.Type.Kind == KindLong:
		out.Longs = v.Longs[lo:hi]
	case v.Type.Kind == KindDouble:
		out.Doubles = v.Doubles[lo:hi]
	case v.Type.Kind == KindFloat:
		out.Floats = v.Floats[lo:hi]
	case v.Type.Kind == KindString, v.Type.Kind == KindComplex:
		out.Strings = v.Strings[lo:hi]
	case v.Type.Kind == KindList:
		out.Offsets = v.Offsets[lo : hi+1] // offsets need not begin at 0
	}
	if v.Valid != nil {
		if lo&63 == 0 {
			out.Valid = v.Valid[lo>>6:]
		} else {
			out.Valid = NewBitmap(hi - lo)
			for i := lo; i < hi; i++ {
				if v.Valid.Get(i) {
					out.Valid.Set(i - lo)
				}
			}
		}
	}
	return &out
}

// Flat returns v without constant or dictionary encoding: every row has its own element. A flat v
// is returned unchanged.
func (v *Vector) Flat() *Vector {
	if !v.Const && v.Dict == nil {
		return v
	}
	if v.Const {
		rows := make([]uint32, v.Len)
		one := *v
		one.Const, one.Len = false, 1
		return one.Gather(rows).Flat()
	}
	out := &Vector{Type: v.Type, Len: v.Len, Valid: v.Valid, Strings: make([]string, v.Len)}
	for i, c := range v.Codes[:v.Len] {
		if v.Valid.Get(i) {
			out.Strings[i] = v.Dict.Value(c)
		}
	}
	return out
}
