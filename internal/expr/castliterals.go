package expr

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// ManyConstants is the number of constants from which a list stores only their values, and the
// number of constants that are cast at a time.
const ManyConstants = 1 << 10

// CastConstants is CastLiterals for many constants: get returns constant i of n.
func CastConstants(n int, get func(i int, l *Literal) error, to Type, at fault.Span, ctx *Context) (*vector.Vector, error) {
	out := vector.NewBuilder(to.Runtime(), n)
	some := make([]Literal, 0, ManyConstants)
	for first := 0; first < n; first += len(some) {
		some = some[:min(n-first, ManyConstants)]
		for i := range some {
			if err := get(first+i, &some[i]); err != nil {
				return nil, err
			}
		}
		cast, err := CastLiterals(some, to, at, ctx)
		if err != nil {
			return nil, err
		}
		out.AppendRange(cast, 0, cast.Len)
	}
	return out.Build(), nil
}

// CastLiterals returns the values of CAST(l AS to) for each l of list, in their order: the result
// of Fold for each cast, without compiling an expression for each. At is their position in the
// text. Types for which a string can be invalid (BOOLEAN, TIMESTAMP, DATE) are left to Fold.
func CastLiterals(list []Literal, to Type, at fault.Span, ctx *Context) (*vector.Vector, error) {
	parts := map[Type]*literalPart{}
	of := make([]*literalPart, len(list))
	for i := range list {
		l := &list[i]
		part := parts[l.T]
		if part == nil {
			part = &literalPart{in: vector.NewBuilder(l.T.Runtime(), len(list))}
			parts[l.T] = part
		}
		part.in.Append(runtimeValue(l.Value, l.T.Runtime()))
		of[i] = part
	}
	for t, part := range parts {
		var err error
		if part.out, err = castVector(part.in.Build(), t, to, at, ctx); err != nil {
			return nil, err
		}
	}
	out := vector.NewBuilder(to.Runtime(), len(list))
	for _, part := range of {
		out.AppendFrom(part.out, part.next)
		part.next++
	}
	return out.Build(), nil
}

// literalPart has the literals of one type.
type literalPart struct {
	in   *vector.Builder
	out  *vector.Vector
	next int // the first of out that is not taken
}

// castVector casts values of a type.
func castVector(in *vector.Vector, from, to Type, at fault.Span, ctx *Context) (*vector.Vector, error) {
	e, err := NewCast(&Column{T: from}, to.OrNull(from.Nullable), at)
	if err != nil {
		return nil, err
	}
	p, err := Compile(e, ctx)
	if err != nil {
		return nil, err
	}
	return p.Eval(&vector.Batch{N: in.Len, Cols: []*vector.Vector{in}})
}
