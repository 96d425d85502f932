package vector

// AppendRows appends the given rows of src, or with rows nil all of them. Strings are shared, not
// copied.
func (b *Builder) AppendRows(src *Vector, rows []uint32) {
	n := src.Len
	if rows != nil {
		n = len(rows)
	}
	if n == 0 {
		return
	}
	if src.Valid != nil || src.Const || src.Type.Kind == KindList {
		for i := range n {
			if rows != nil {
				b.AppendFrom(src, int(rows[i]))
			} else {
				b.AppendFrom(src, i)
			}
		}
		return
	}
	switch src.Type.Kind {
	case KindLong:
		b.v.Longs = appendRows(b.v.Longs, src.Longs[:src.Len], rows)
	case KindDouble:
		b.v.Doubles = appendRows(b.v.Doubles, src.Doubles[:src.Len], rows)
	case KindFloat:
		b.v.Floats = appendRows(b.v.Floats, src.Floats[:src.Len], rows)
	default:
		switch {
		case src.Dict == nil:
			b.v.Strings = appendRows(b.v.Strings, src.Strings[:src.Len], rows)
		case rows == nil:
			for _, c := range src.Codes[:src.Len] {
				b.v.Strings = append(b.v.Strings, src.Dict.Value(c))
			}
		default:
			for _, r := range rows {
				b.v.Strings = append(b.v.Strings, src.Dict.Value(src.Codes[r]))
			}
		}
	}
	b.v.Len += n
}

func appendRows[T any](dst, src []T, rows []uint32) []T {
	if rows == nil {
		return append(dst, src...)
	}
	for _, r := range rows {
		dst = append(dst, src[r])
	}
	return dst
}

// AppendPicked appends rows[i] of srcs[src[i]], for all i.
func (b *Builder) AppendPicked(srcs []*Vector, src, rows []uint32) {
	for _, s := range srcs {
		if s.Valid != nil || s.Const || s.Type.Kind == KindList {
			for i, k := range src {
				b.AppendFrom(srcs[k], int(rows[i]))
			}
			return
		}
	}
	switch b.v.Type.Kind {
	case KindLong:
		for i, k := range src {
			b.v.Longs = append(b.v.Longs, srcs[k].Longs[rows[i]])
		}
	case KindDouble:
		for i, k := range src {
			b.v.Doubles = append(b.v.Doubles, srcs[k].Doubles[rows[i]])
		}
	case KindFloat:
		for i, k := range src {
			b.v.Floats = append(b.v.Floats, srcs[k].Floats[rows[i]])
		}
	default:
		for i, k := range src {
			b.v.Strings = append(b.v.Strings, srcs[k].StringAt(int(rows[i])))
		}
	}
	b.v.Len += len(src)
}

// Bytes returns the memory of the appended values, including strings.
func (b *Builder) Bytes() int64 {
	n := b.v.Bytes() + 4*int64(cap(b.invalid))
	if b.child != nil {
		n += b.child.Bytes()
	}
	return n
}

// Bytes returns an estimate of the memory of v, including strings and without its dictionary, which
// other vectors may share.
func (v *Vector) Bytes() int64 {
	n := 8*int64(cap(v.Longs)+cap(v.Doubles)+len(v.Valid)) + 4*int64(cap(v.Floats)+cap(v.Codes)+cap(v.Offsets)) + 16*int64(cap(v.Strings))
	for _, s := range v.Strings {
		n += int64(len(s))
	}
	if v.Child != nil {
		n += v.Child.Bytes()
	}
	return n + 64
}

// BatchBuilder collects rows of equal types into one batch.
type BatchBuilder struct {
	cols  []*Builder
	rows  int
	bytes int64
}

// NewBatchBuilder returns an empty builder for columns of the given types with room for hint rows.
func NewBatchBuilder(types []Type, hint int) *BatchBuilder {
	b := &BatchBuilder{cols: make([]*Builder, len(types))}
	for i, t := range types {
		b.cols[i] = NewBuilder(t, hint)
	}
	return b
}

// Append appends the selected rows of src.
func (b *BatchBuilder) Append(src *Batch) { b.AppendRows(src, src.Sel) }

// AppendRows appends the given rows of src, or all N if rows is nil. Row numbers ignore the
// selection.
func (b *BatchBuilder) AppendRows(src *Batch, rows []uint32) {
	n := src.N
	if rows != nil {
		n = len(rows)
	}
	if n == 0 {
		return
	}
	for i, c := range src.Cols {
		b.bytes += rowsBytes(c, rows)
		b.cols[i].AppendRows(c, rows)
	}
	b.rows += n
}

// AppendRow appends row i of src. The row number ignores the selection.
func (b *BatchBuilder) AppendRow(src *Batch, i int) {
	for c, v := range src.Cols {
		b.bytes += valueBytes(v, i)
		b.cols[c].AppendFrom(v, i)
	}
	b.rows++
}

// Col returns the builder of column i, for callers that fill columns themselves and then call Grew.
func (b *BatchBuilder) Col(i int) *Builder { return b.cols[i] }

// Grew records that n rows of about the given bytes were appended to every column through Col.
func (b *BatchBuilder) Grew(n int, bytes int64) { b.rows += n; b.bytes += bytes }

// Rows returns the number of appended rows.
func (b *BatchBuilder) Rows() int { return b.rows }

// Bytes returns an estimate of the memory of the rows.
func (b *BatchBuilder) Bytes() int64 { return b.bytes }

// Build returns the rows as a flat batch and leaves the builder empty.
func (b *BatchBuilder) Build() *Batch {
	out := &Batch{N: b.rows, Cols: make([]*Vector, len(b.cols))}
	for i, c := range b.cols {
		out.Cols[i] = c.Build()
	}
	b.rows, b.bytes = 0, 0
	return out
}

// Bytes returns an estimate of the memory of the rows of b in flat vectors.
func (b *Batch) Bytes() int64 {
	n := int64(0)
	for _, c := range b.Cols {
		n += rowsBytes(c, b.Sel)
	}
	return n
}

// rowsBytes estimates the flat size of rows of v (nil: all).
func rowsBytes(v *Vector, rows []uint32) int64 {
	n := v.Len
	if rows != nil {
		n = len(rows)
	}
	switch v.Type.Kind {
	case KindLong, KindDouble:
		return 8 * int64(n)
	case KindFloat:
		return 4 * int64(n)
	}
	total := int64(0)
	for i := range n {
		if rows != nil {
			i = int(rows[i])
		}
		total += valueBytes(v, i)
	}
	return total
}

func valueBytes(v *Vector, i int) int64 {
	switch v.Type.Kind {
	case KindString, KindComplex:
		if v.IsNull(i) {
			return 16
		}
		return 16 + int64(len(v.StringAt(i)))
	case KindList:
		total := int64(4)
		if !v.IsNull(i) {
			for lo, hi := v.ListAt(i); lo < hi; lo++ {
				total += valueBytes(v.Child, lo)
			}
		}
		return total
	}
	return 8
}

// Concat returns the selected rows of all batches as one flat batch. All batches have columns of
// the given types.
func Concat(types []Type, batches []*Batch) *Batch {
	n := 0
	for _, b := range batches {
		n += b.Rows()
	}
	out := NewBatchBuilder(types, n)
	for _, b := range batches {
		out.Append(b)
	}
	return out.Build()
}

// OwnStrings returns v with its strings copied to new memory, so that they remain valid when the
// memory of v is released.
func (v *Vector) OwnStrings() *Vector {
	switch {
	case v.Child != nil:
		c := *v
		c.Child = v.Child.OwnStrings()
		return &c
	case v.Dict == nil && v.Strings == nil:
		return v
	}
	n := v.Len
	if v.Const {
		n = 1
	}
	size := 0
	for i := range n {
		if !v.IsNull(i) {
			size += len(v.StringAt(i))
		}
	}
	blob := make([]byte, 0, size)
	for i := range n {
		if !v.IsNull(i) {
			blob = append(blob, v.StringAt(i)...)
		}
	}
	text := string(blob)
	c := *v
	c.Codes, c.Dict, c.Strings = nil, nil, make([]string, n)
	for i := range n {
		if !v.IsNull(i) {
			l := len(v.StringAt(i))
			c.Strings[i], text = text[:l], text[l:]
		}
	}
	return &c
}

// Sized returns s with length n; contents are unspecified.
func Sized[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n, max(n, 2*cap(s)))
}
