package vector

import "fmt"

// Builder appends values to a growing flat vector.
type Builder struct {
	v       *Vector
	invalid []uint32 // rows without a value, ascending
	child   *Builder // lists only
}

// NewBuilder returns an empty builder for t with room for hint rows.
func NewBuilder(t Type, hint int) *Builder {
	b := &Builder{v: &Vector{Type: t}}
	switch t.Kind {
	case KindLong:
		b.v.Longs = make([]int64, 0, hint)
	case KindDouble:
		b.v.Doubles = make([]float64, 0, hint)
	case KindFloat:
		b.v.Floats = make([]float32, 0, hint)
	case KindString, KindComplex:
		b.v.Strings = make([]string, 0, hint)
	case KindList:
		b.v.Offsets = append(make([]uint32, 0, hint+1), 0)
		b.child = NewBuilder(t.Elem(), hint)
	}
	return b
}

// Len returns the number of appended rows.
func (b *Builder) Len() int { return b.v.Len }

// AppendNull appends a row without a value.
func (b *Builder) AppendNull() {
	b.invalid = append(b.invalid, uint32(b.v.Len))
	switch b.v.Type.Kind {
	case KindLong:
		b.v.Longs = append(b.v.Longs, 0)
	case KindDouble:
		b.v.Doubles = append(b.v.Doubles, 0)
	case KindFloat:
		b.v.Floats = append(b.v.Floats, 0)
	case KindString, KindComplex:
		b.v.Strings = append(b.v.Strings, "")
	case KindList:
		b.v.Offsets = append(b.v.Offsets, uint32(b.child.Len()))
	}
	b.v.Len++
}

// AppendLong appends x to a Long builder.
func (b *Builder) AppendLong(x int64) { b.v.Longs = append(b.v.Longs, x); b.v.Len++ }

// AppendDouble appends x to a Double builder.
func (b *Builder) AppendDouble(x float64) { b.v.Doubles = append(b.v.Doubles, x); b.v.Len++ }

// AppendFloat appends x to a Float builder.
func (b *Builder) AppendFloat(x float32) { b.v.Floats = append(b.v.Floats, x); b.v.Len++ }

// AppendString appends x to a String or Complex builder. The builder retains x without copying its
// bytes.
func (b *Builder) AppendString(x string) { b.v.Strings = append(b.v.Strings, x); b.v.Len++ }

// Child returns the builder of a list's elements: append them, then call AppendList.
func (b *Builder) Child() *Builder { return b.child }

// Type returns the type of the vector that is built.
func (b *Builder) Type() Type { return b.v.Type }

// AppendList ends a row of a List builder: its elements are the values appended to Child since the
// previous row.
func (b *Builder) AppendList() {
	b.v.Offsets = append(b.v.Offsets, uint32(b.child.Len()))
	b.v.Len++
}

// AppendFrom appends row i of src, which has the builder's type.
func (b *Builder) AppendFrom(src *Vector, i int) {
	if src.IsNull(i) {
		b.AppendNull()
		return
	}
	switch b.v.Type.Kind {
	case KindLong:
		b.AppendLong(src.Longs[src.at(i)])
	case KindDouble:
		b.AppendDouble(src.Doubles[src.at(i)])
	case KindFloat:
		b.AppendFloat(src.Floats[src.at(i)])
	case KindString, KindComplex:
		b.AppendString(src.StringAt(i))
	case KindList:
		lo, hi := src.ListAt(i)
		for ; lo < hi; lo++ {
			b.child.AppendFrom(src.Child, lo)
		}
		b.AppendList()
	}
}

// AppendRange appends rows lo to hi (exclusive) of src, which has the builder's type.
func (b *Builder) AppendRange(src *Vector, lo, hi int) {
	if src.Valid != nil || src.Const || src.Dict != nil || b.v.Type.Kind == KindList {
		for ; lo < hi; lo++ {
			b.AppendFrom(src, lo)
		}
		return
	}
	switch b.v.Type.Kind {
	case KindLong:
		b.v.Longs = append(b.v.Longs, src.Longs[lo:hi]...)
	case KindDouble:
		b.v.Doubles = append(b.v.Doubles, src.Doubles[lo:hi]...)
	case KindFloat:
		b.v.Floats = append(b.v.Floats, src.Floats[lo:hi]...)
	case KindString, KindComplex:
		b.v.Strings = append(b.v.Strings, src.Strings[lo:hi]...)
	}
	b.v.Len += hi - lo
}

// Append appends a boxed value: int64, float64, float32, string, []any or nil, fitting the type. It
// panics for any other value, which is a bug of the caller.
func (b *Builder) Append(value any) {
	switch x := value.(type) {
	case nil:
		b.AppendNull()
	case int64:
		b.AppendLong(x)
	case float64:
		b.AppendDouble(x)
	case float32:
		b.AppendFloat(x)
	case string:
		b.AppendString(x)
	case []any:
		for _, e := range x {
			b.child.Append(e)
		}
		b.AppendList()
	default:
		panic(fmt.Sprintf("vector: Append of %T to a builder of %s", value, b.v.Type))
	}
}

// Build returns the vector and resets the builder.
func (b *Builder) Build() *Vector {
	v := b.finish()
	*b = *NewBuilder(v.Type, 0)
	return v
}

// finish returns the vector, after which the builder is of no use any more.
func (b *Builder) finish() *Vector {
	v := b.v
	if len(b.invalid) > 0 {
		v.Valid = FullBitmap(v.Len)
		for _, i := range b.invalid {
			v.Valid.Clear(int(i))
		}
	}
	if b.child != nil {
		v.Child = b.child.finish()
	}
	return v
}
